// Life and death of tapes: nesting, threads, pauses, values that outlive them.
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "autograd/products.hpp"
#include "tests/autograd/common.hpp"

namespace test_tapes {

using namespace glim;

TEST_CASE("a tape that takes over another's lists numbers its leaves anew", "[tape]") {
  std::vector<Var> leaves;
  for (int i = 0; i < 6; ++i) leaves.push_back(leaf_of({1}));
  auto sum_of_products = [&](Tape& tape) {
    Var total;
    for (const Var& x : leaves) {
      Var y = mul(x, 3.0);
      total = total.defined() ? add(total, y) : y;
    }
    tape.backward(sum(total), {.retain = true});
    return total;
  };
  {
    Tape before;
    Var total = leaves[0];
    for (const Var& x : leaves) total = mul(total, x);  // leaf i is node 0, 1, 3, 5 ...
  }
  Tape tape;
  sum_of_products(tape);  // leaf i is node 0, 2, 5, 8 ...
  std::vector<int> numbers;
  for (const Var& x : leaves) numbers.push_back(tape.node_of(x));
  CHECK(numbers == std::vector<int>{0, 2, 5, 8, 11, 14});
  {
    Tape inner;  // takes the leaves over
    sum_of_products(inner);
  }
  auto size = tape.nodes().size();
  sum_of_products(tape);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    CHECK(tape.node_of(leaves[i]) == numbers[i]);
    CHECK(leaves[i].grad().item() == 9);
  }
  CHECK(tape.nodes().size() == size + 6 + 5 + 1);
}

TEST_CASE("a pause that outlives its tape leaves the next one alone", "[tape]") {
  alignas(Tape) std::byte place[sizeof(Tape)];
  auto* tape = new (place) Tape;
  std::optional<NoGrad> old(std::in_place);
  tape->~Tape();
  tape = new (place) Tape;  // where the first one was
  NoGrad pause;
  old.reset();
  CHECK_FALSE(sum(leaf64({2}, 1)).requires_grad());
  tape->~Tape();
}

TEST_CASE("leaves that two tapes number otherwise are found on each", "[tape]") {
  Var a = leaf_of({2}), b = leaf_of({3});
  Tape outer;
  Var product = mul(a, b);
  for (int i = 0; i < 2; ++i) {
    Tape inner;
    Var y = mul(b, mul(b, a));
    CHECK(inner.node_of(a) == 1);
    CHECK(inner.nodes().size() == 4);
    CHECK(inner.grad(sum(y), {a, b})[1].item() == 2 * 2 * 3);
  }
  CHECK(outer.node_of(add(a, product)) == 3);
  CHECK(outer.nodes()[3].inputs[0] == 0);
  CHECK(outer.grad(sum(product), {a, b})[0].item() == 3);
}

TEST_CASE("an inner tape records, and the outer one goes on after it", "[tape]") {
  Var x = leaf_of({2});
  Tape outer;
  Var before = mul(x, x);
  {
    Tape inner;
    CHECK(Tape::current() == &inner);
    Var y = mul(x, 3.0);
    CHECK(outer.nodes().size() == 2);
    CHECK(inner.nodes().size() == 2);
    inner.backward(sum(y));
    CHECK(x.grad().item() == 3);
    CHECK(error_of<StateError>([&] { mul(before, x); }) != "");  // of the outer tape
    CHECK_NOTHROW(mul(before.detach(), x));
  }
  CHECK(Tape::current() == &outer);
  Var after = mul(x, 5.0);
  CHECK(outer.nodes().size() == 3);  // the leaf is there once
  CHECK(outer.grad(sum(add(before, after)), {x}, {}, {.retain = true})[0].item() == 4 + 5);
  x.zero_grad();
  int calls = 0;
  Hook counts(outer, x, [&](const Var& g) {
    ++calls;
    CHECK(g.item() == 9);  // complete
    return Var();
  });
  outer.backward(sum(add(before, after)));
  CHECK(calls == 1);
  CHECK(x.grad().item() == 9);
}

TEST_CASE("a leaf has its own number on each tape", "[tape]") {
  Var a = leaf_of({2}), b = leaf_of({3});
  Tape outer;
  Var before = a * b;  // a is node 0, b is node 1
  {
    Tape inner;
    Var y = b * a;  // the other way round
    inner.backward(sum(y));
  }
  a.zero_grad();
  b.zero_grad();
  outer.backward(sum(before + 5 * a + 7 * b));
  CHECK(a.grad().item() == 3 + 5);
  CHECK(b.grad().item() == 2 + 7);
}

TEST_CASE("the outer tape's backward runs while an inner tape is open", "[tape]") {
  Var x = leaf_of({2});
  Tape outer;
  Var loss = sum(mul(x, x));
  Tape inner;
  outer.backward(loss);
  CHECK(Tape::current() == &inner);
  CHECK(x.grad().item() == 4);
  CHECK(inner.nodes().empty());
}

TEST_CASE("a value whose tape is gone is an error that names op, place and remedy", "[tape]") {
  Var x = leaf_of({1, 2}), y;
  {
    Tape tape;
    y = mul(x, x);
  }
  CHECK(y.value().defined());
  CHECK(y.numel() == 2);
  Tape tape;
  Scope scope("decoder");
  std::string text = error_of<StateError>([&] { exp(y); });
  INFO(text);
  CHECK(contains(text, "exp"));
  CHECK(contains(text, "in decoder.exp, at tapes.cpp:"));
  CHECK(contains(text, "detach()"));
  CHECK_THROWS_AS(y.requires_grad(), StateError);
  CHECK_THROWS_AS(tape.backward(y, ones({2}, DType::Float64)), StateError);
}

TEST_CASE("a value whose tape is gone is an error where nothing is recorded, too", "[tape]") {
  Var x = leaf_of({1, 2}), y;
  {
    Tape tape;
    y = mul(x, x);
  }
  Scope scope("decoder");
  for (bool open : {false, true}) {
    std::optional<Tape> other;
    if (open) other.emplace();
    NoGrad paused;
    std::string text = error_of<StateError>([&] { add(x, y); });
    INFO(text);
    CHECK(contains(text, "a value computed on another tape is used: detach() it"));
    CHECK(contains(text, "in decoder.add, at tapes.cpp:"));
    CHECK_THROWS_AS(concatenate({x, y}, 0), StateError);
    CHECK(list(add(x, y.detach()).value()) == std::vector<double>{2, 6});
  }
  // That of an outer tape is a constant.
  Tape outer;
  y = mul(x, x);
  Tape inner;
  NoGrad paused;
  CHECK_FALSE(add(x, y).requires_grad());
}

TEST_CASE("gradients of or by a value of another tape are an error, not zeros", "[tape]") {
  Var x = leaf_of({1, 2}), h, loss;
  {
    Tape gone;
    h = exp(x);
    loss = sum(h);
  }
  Tape tape;
  Var y = sum(x);
  CHECK_THROWS_AS(tape.grad(y, {h}), StateError);
  CHECK_THROWS_AS(tape.grad(loss, {x}), StateError);
  CHECK_THROWS_AS(jvp(tape, {loss}, {x}, {x.value()}), StateError);
  CHECK_THROWS_AS(hvp(tape, loss, {x}, {x.value()}), StateError);
  CHECK(list(tape.grad(Var(ones({}, DType::Float64)), {x})[0].value()) ==
        std::vector<double>{0, 0});
}

TEST_CASE("tapes may go in any order", "[tape]") {
  Var x = leaf_of({2});
  auto a = std::make_unique<Tape>();
  auto b = std::make_unique<Tape>();
  a.reset();
  CHECK(Tape::current() == b.get());
  b->backward(sum(mul(x, x)));
  CHECK(x.grad().item() == 4);
  b.reset();
  CHECK(Tape::current() == nullptr);
  auto c = std::make_unique<Tape>();
  {
    NoGrad paused;
    c.reset();
  }
  CHECK(Tape::current() == nullptr);
}

TEST_CASE("pausing stops recording, nests, and ends with its block", "[tape]") {
  Var x = leaf_of({2});
  Tape tape;
  {
    NoGrad paused;
    CHECK(Tape::current() == nullptr);
    CHECK(Tape::open() == &tape);
    {
      NoGrad no(false);
      CHECK(Tape::current() == nullptr);
    }
    Var y = mul(x, x);
    CHECK(tape.nodes().empty());
    CHECK_FALSE(y.requires_grad());
    Tape inner;  // not paused
    CHECK(Tape::current() == &inner);
  }
  CHECK(Tape::current() == &tape);
  // A value of the tape used while paused is a constant from there on.
  Var h = mul(x, x), frozen;
  {
    NoGrad paused;
    frozen = exp(h);
  }
  tape.backward(sum(mul(frozen, x)));
  CHECK(x.grad().item() == frozen.item());
}

TEST_CASE("backward passes of several threads add up in one leaf", "[tape]") {
  constexpr int kThreads = 4, kPasses = 200;
  Var x = Var::leaf(zeros({64}, DType::Float64), "x");
  std::atomic<int> begun{0}, shapeless{0};
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done)
      if (const Tensor g = x.grad(); g.defined() && g.numel() != 64) ++shapeless;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (++begun; begun < kThreads;) std::this_thread::yield();
      for (int i = 0; i < kPasses; ++i) {
        Var own = Var::leaf(zeros({64}, DType::Float64));
        Tape tape;
        for (int k = 0; k < t; ++k) own = own * 1.0;  // x has another number on each tape
        tape.backward(sum(own + x));
      }
    });
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();
  CHECK(shapeless == 0);
  CHECK(list(x.grad()) == std::vector<double>(64, kThreads * kPasses));  // which no order rounds
}

TEST_CASE("tapes belong to one thread", "[tape]") {
  Var x = leaf_of({2});
  Tape tape;
  std::string other;
  Tape* seen = &tape;
  std::thread thread([&] {
    seen = Tape::current();
    Var own = leaf_of({3}, "own");
    Tape mine;
    mine.backward(sum(mul(own, own)));
    other = to_string(own.grad().shape());
  });
  thread.join();
  CHECK(seen == nullptr);
  CHECK(other == "(1,)");
  tape.backward(sum(mul(x, x)));
  CHECK(x.grad().item() == 4);
}

TEST_CASE("tapes in several threads at once give the bits of one", "[tape]") {
  const Tensor shared = normal({96, 64}, 0, 1, {1, 1});  // read by all
  auto gradient = [&](std::uint64_t stream) {
    Var w = Var::leaf(normal({64, 64}, 0, 0.2, {2, stream})),
        b = Var::leaf(normal({64}, 0, 1, {3, stream}));
    std::vector<Tensor> found;
    for (int i = 0; i < 3; ++i) {
      Tape tape;
      Watch watch(tape, "*");
      Scope scope("thread " + std::to_string(stream));
      Var h = recomputed([=] { return layer_norm(linear_relu(Var(shared), w, b), Var(), Var()); });
      tape.backward(sum(softmax(matmul(h, transpose(w))) * h));
      found = {w.grad().clone(), b.grad().clone()};
    }
    return found;
  };
  constexpr std::uint64_t kThreads = 4;
  std::vector<std::vector<Tensor>> alone, together(kThreads);
  for (std::uint64_t t = 0; t < kThreads; ++t) alone.push_back(gradient(t));
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { together[t] = gradient(t); });
  for (std::thread& t : threads) t.join();
  for (std::uint64_t t = 0; t < kThreads; ++t)
    for (std::size_t k = 0; k < alone[t].size(); ++k) CHECK(same_bits(alone[t][k], together[t][k]));
}

}  // namespace test_tapes
