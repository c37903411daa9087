// Checkpointed regions: the same gradients, and everything else as if they were not there.
#include <algorithm>

#include "tests/autograd/common.hpp"

namespace test_checkpoint {

using namespace glim;

namespace {

struct Found {
  std::vector<std::vector<double>> grads;
  double loss = 0;
};

// Runs f on a fresh tape and reads the leaves' gradients.
template <class F>
Found differentiate(const std::vector<Var>& leaves, const F& f) {
  seed(7);
  for (const Var& l : leaves) l.zero_grad();
  Tape tape;
  Var loss = f();
  auto size = tape.nodes().size();
  tape.backward(loss);
  CHECK(tape.nodes().size() == size);
  Found found;
  found.loss = loss.item();
  for (const Var& l : leaves) found.grads.push_back(list(l.grad()));
  return found;
}

}  // namespace

TEST_CASE("nested checkpoints give the same bits as none", "[checkpoint]") {
  Var x = leaf64({3, 4}, 1), w = leaf64({4, 4}, 2, "w"), v = leaf64({4, 4}, 3, "v");
  auto layer = [](const Var& h, const Var& weight) {
    return dropout(tanh(matmul(h, weight)), 0.25, generator().next());
  };
  auto plain = differentiate({x, w, v}, [&] {
    Var h = layer(layer(layer(x, w), v), w);
    return sum(mul(h, dropout(h, 0.5, generator().next())));
  });
  auto nested = differentiate({x, w, v}, [&] {
    Var h = recomputed([&] {
      Var a = recomputed([&] { return layer(x, w); });
      Var b = recomputed([&, a] { return layer(a, v); });
      return layer(b, w);
    });
    return sum(mul(h, dropout(h, 0.5, generator().next())));
  });
  CHECK(plain.loss == nested.loss);
  CHECK(plain.grads == nested.grads);
}

TEST_CASE("a region's leaves are left alone by grad", "[checkpoint]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var y = sum(recomputed([&] { return mul(x, x); }));
  CHECK(tape.grad(y, {x})[0].value().to_vector<double>() == std::vector<double>{2, 4});
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a region may return what it was given", "[checkpoint]") {
  Var x = leaf_of({1, 2});
  auto through = differentiate({x}, [&] {
    Var h = mul(x, x);
    return sum(mul(recomputed([h] { return h; }), 3.0));
  });
  CHECK(through.grads[0] == std::vector<double>{6, 12});
  auto leaf = differentiate({x}, [&] { return sum(mul(recomputed([&] { return x; }), 3.0)); });
  CHECK(leaf.grads[0] == std::vector<double>{3, 3});
  auto beside = differentiate({x}, [&] {
    Var h = mul(x, x);
    return sum(recomputed([h, x] {
      exp(x);  // computed, and not used
      return h;
    }));
  });
  CHECK(beside.grads[0] == std::vector<double>{2, 4});
  Tape tape;
  Var constant = recomputed([] { return exp(Var(ones({2}))); });
  CHECK_FALSE(constant.requires_grad());
  CHECK(tape.nodes().empty());
}

TEST_CASE("values of a region are seen by watch and hooks once it is run again", "[checkpoint]") {
  Var x = leaf64({2, 3}, 1);
  std::vector<double> plain_grad, plain_value;
  for (bool keep : {true, false}) {
    Tape tape;
    Watch watch(tape, "*.probs");
    int calls = 0;
    Hook doubles(tape, "*.probs", [&](const Var& g) {
      ++calls;
      return mul(g, 2.0);
    });
    Var other = mul(x, 2.0);
    auto region = [&] {
      Scope scope("layer");
      return mul(named(softmax(other), "probs"), other);
    };
    Var y = keep ? region() : recomputed(region);
    Var unrelated = exp(y);  // takes the numbers that the region's nodes had
    x.zero_grad();
    tape.backward(sum(mul(unrelated, y)));
    CHECK(calls == 1);
    REQUIRE(watch.values().size() == 1);
    const Watched& w = watch.values()[0];
    CHECK(w.path == "layer.probs");
    REQUIRE(w.grad.defined());
    if (keep) {
      plain_grad = list(w.grad);
      plain_value = list(x.grad());
    } else {
      CHECK(list(w.grad) == plain_grad);
      CHECK(list(x.grad()) == plain_value);
    }
  }
}

TEST_CASE("a hook set inside a region stays with the region", "[checkpoint]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  std::vector<std::vector<double>> seen;
  std::optional<Hook> hook;
  Var y = recomputed([&] {
    Var h = mul(x, 10.0);
    hook.emplace(*Tape::current(), h, [&](const Var& g) {
      seen.push_back(list(g.value()));
      return Var();
    });
    return mul(h, 2.0);
  });
  Var after = mul(y, 7.0);  // its number is the one that h had
  tape.backward(sum(after));
  CHECK(seen == std::vector<std::vector<double>>{{14, 14}});
  CHECK(list(x.grad()) == std::vector<double>{140, 140});
}

TEST_CASE("a value that escapes its region is an error, not another node", "[checkpoint]") {
  Var x = leaf_of({1, 2}), escaped;
  Tape tape;
  Var y = recomputed([&] {
    escaped = exp(x);
    return mul(escaped, 2.0);
  });
  Var z = mul(y, y), w = mul(z, z);
  std::string text = error_of<StateError>([&] { mul(escaped, w); });
  INFO(text);
  CHECK(contains(text, "recomputed"));
  CHECK(contains(text, "detach()"));
  CHECK_NOTHROW(mul(escaped.detach(), w));
}

TEST_CASE("the second order goes through checkpoints", "[checkpoint]") {
  Var x = leaf64({2, 2}, 1), w = leaf64({2, 2}, 2, "w");
  std::vector<double> plain;
  for (bool keep : {true, false}) {
    for (const Var& v : {x, w}) v.zero_grad();
    Tape tape;
    auto region = [&] { return sin(matmul(x, w)); };
    Var y = sum(mul(keep ? region() : recomputed(region), x));
    std::vector<Var> d = tape.grad(y, {x, w}, {}, {.create_graph = true});
    tape.backward(add(sum(mul(d[0], d[0])), sum(mul(d[1], d[1]))));
    std::vector<double> all = list(x.grad());
    for (double e : list(w.grad())) all.push_back(e);
    if (keep)
      plain = all;
    else
      for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == Approx(plain[i]).epsilon(1e-12));
  }
}

TEST_CASE("a region under retain runs again for each backward", "[checkpoint]") {
  Var x = leaf_of({1, 2});
  int runs = 0;
  Tape tape;
  Var loss = sum(recomputed([&] {
    ++runs;
    return mul(x, x);
  }));
  tape.backward(loss, {.retain = true});
  tape.backward(loss);
  CHECK(runs == 3);
  CHECK(list(x.grad()) == std::vector<double>{4, 8});
  CHECK_THROWS_AS(tape.backward(loss), StateError);
}

TEST_CASE("an exception when a region is run, or run again, leaves all as it was", "[checkpoint]") {
  Var x = leaf_of({1, 2});
  seed(3);
  {
    Tape tape;
    Var h = exp(x);
    auto size = tape.nodes().size();
    Var inside, other = leaf_of({3, 4});
    CHECK_THROWS_AS(recomputed([&]() -> Var {
                      inside = mul(h, other);
                      throw ValueError("region", "on purpose");
                    }),
                    ValueError);
    CHECK(tape.nodes().size() == size);
    CHECK(tape.node_of(inside) == -1);  // its place is free again
    CHECK_THROWS_AS(tape.value(static_cast<int>(size)), StateError);
    CHECK(Tape::current() == &tape);
  }
  Tape tape;
  int runs = 0;
  Scope scope("outer");
  Var y = recomputed([&]() -> Var {
    Scope inner("inner");
    Var drawn = dropout(mul(x, x), 0.5, generator().next());
    if (++runs == 2) throw ValueError("region", "on purpose");
    return drawn;
  });
  generator().next();
  auto stream = generator().stream();
  auto size = tape.nodes().size();
  Var loss = sum(y);
  CHECK_THROWS_AS(tape.backward(loss, {.retain = true}), ValueError);
  CHECK(generator().stream() == stream);
  CHECK(Tape::current() == &tape);
  CHECK(Scope::path() == "outer");
  CHECK(tape.nodes().size() == size + 1);
  tape.backward(loss);
  CHECK(x.grad().defined());
}

TEST_CASE("a region that reads something else when it runs again is an error", "[checkpoint]") {
  Var x = leaf_of({1, 2}), other = leaf_of({3, 4});
  Tape tape;
  int runs = 0;
  Var y = recomputed([&] { return ++runs == 1 ? x * 2.0 : other * 2.0; });
  std::string text = error_of<StateError>([&] { tape.backward(sum(y)); });
  INFO(text);
  CHECK(contains(text, "recomputed"));
  CHECK(contains(text, "gives no gradient"));
}

TEST_CASE("a region of many leaves, and frozen ones", "[checkpoint]") {
  std::vector<Var> leaves;
  for (std::uint64_t i = 0; i < 100; ++i) leaves.push_back(leaf64({2}, i, "p"));
  leaves[3].leaf().trainable = false;
  Tape tape;
  Var y = recomputed([&] {
    Var s = leaves[0];
    for (std::size_t i = 1; i < leaves.size(); ++i) s = mul(add(s, leaves[i]), 0.9);
    return sum(s);
  });
  tape.backward(y);
  for (std::size_t i = 1; i < leaves.size(); ++i) {
    if (i == 3)
      CHECK_FALSE(leaves[i].grad().defined());
    else
      CHECK(list(leaves[i].grad())[0] == Approx(std::pow(0.9, 100.0 - static_cast<double>(i))));
  }
}

TEST_CASE("without a tape a region just runs", "[checkpoint]") {
  int runs = 0;
  Var y = recomputed([&] {
    ++runs;
    return Var(ones({2}));
  });
  CHECK(runs == 1);
  CHECK(y.numel() == 2);
  auto ops = registered_ops();
  CHECK(std::find(ops.begin(), ops.end(), "recomputed") != ops.end());
}

TEST_CASE("a checkpoint costs memory only while it is run", "[checkpoint]") {
  Var x = leaf64({64, 64}, 1);
  auto chain = [&](Var h) {
    for (int i = 0; i < 20; ++i) h = tanh(matmul(h, x));
    return h;
  };
  std::int64_t held[2];
  for (bool keep : {true, false}) {
    Tape tape;
    auto before = allocator_stats().allocated_bytes;
    Var y = keep ? chain(x) : recomputed([&] { return chain(x); });
    held[keep] = allocator_stats().allocated_bytes - before;
    tape.backward(sum(y));
  }
  CHECK(held[0] * 10 < held[1]);
}

TEST_CASE("what a region reads in vain gets no gradient, as without a checkpoint", "[checkpoint]") {
  Var x = leaf_of({1, 2}), w = leaf_of({3, 4}, "w"), v = leaf_of({5, 6}, "v");
  for (bool keep : {true, false}) {
    for (const Var& l : {x, w, v}) l.zero_grad();
    Tape tape;
    Var h = mul(v, 2.0);
    auto region = [=] {
      mul(w, h);  // computed, and not used
      return mul(x, 3.0);
    };
    Var y = keep ? region() : recomputed([=] { return recomputed(region); });
    CHECK(list(tape.grad(sum(y), {w}, {}, {.retain = true})[0].value()) ==
          std::vector<double>{0, 0});
    tape.backward(sum(y));
    CHECK(list(x.grad()) == std::vector<double>{3, 3});
    CHECK_FALSE(w.grad().defined());
    CHECK_FALSE(v.grad().defined());
  }
}

TEST_CASE("a region without a function is an error that says so", "[checkpoint]") {
  std::function<Var()> none;
  auto refused = [&] {
    std::string text = error_of<ValueError>([&] { recomputed(none); });
    INFO(text);
    CHECK(contains(text, "recomputed: fn is null"));
    CHECK(contains(text, "at checkpoint.cpp:"));
  };
  refused();
  Tape tape;
  refused();
}

}  // namespace test_checkpoint
