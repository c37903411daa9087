// Hooks: on values, on patterns of paths, on leaves.
#include <list>

#include "tests/autograd/common.hpp"

namespace test_hooks {

using namespace glim;

TEST_CASE("hooks see the complete gradient, in the order in which they were added", "[hooks]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = mul(x, x);
  std::vector<std::string> calls;
  std::vector<double> seen;
  Hook first(tape, h, [&](const Var& g) {
    calls.push_back("first");
    seen = list(g.value());
    return Var();
  });
  Hook second(tape, "mul", [&](const Var&) {
    calls.push_back("pattern");
    return Var();
  });
  Hook third(tape, h, [&](const Var&) {
    calls.push_back("last");
    return Var();
  });
  tape.backward(sum(add(mul(h, 3.0), mul(h, 4.0))));  // h is used twice
  CHECK(calls == std::vector<std::string>{"first", "pattern", "last"});
  CHECK(seen == std::vector<double>{7, 7});
  CHECK(list(x.grad()) == std::vector<double>{14, 28});
}

TEST_CASE("observers cannot write to a gradient that other branches read", "[hooks]") {
  struct Spoils final : Observer {
    void arrived(int, const Var& dy) override { refused += refuses(dy.value()); }
    void flow(const Flow& f) override { refused += refuses(f.gradient); }
    static bool refuses(const Tensor& g) {
      try {
        g.fill_(0);
      } catch (const ValueError&) {
        return true;
      }
      return false;
    }
    int refused = 0;
  };
  for (bool create_graph : {false, true}) {
    Spoils spoils;
    Var x = leaf_of({1, 2});
    Tape tape;
    Var h = x * x;
    tape.observe(spoils);
    Hook first(tape, h, [](const Var& g) {
      CHECK_THROWS_AS(mul_(g.value(), 0), ValueError);
      return g;  // as it was: no replacement
    });
    tape.backward(sum(h + h * 3.0), {.create_graph = create_graph});
    CHECK(spoils.refused == 5 + 6);  // nodes, and flows between them: h and x have two each
    CHECK(list(x.grad()) == std::vector<double>{8, 16});
  }
}

namespace {

// x's gradient of loss(), with a hook on every node that keeps what it sees, or without one.
template <class F>
Tensor gradient_of(const Var& x, bool hooked, const F& loss) {
  x.zero_grad();
  Tape tape;
  std::vector<Tensor> kept;
  Hook keeps(tape, "*", [&](const Var& dy) {
    kept.push_back(dy.value());
    return Var();
  });
  if (!hooked) keeps.stop();
  tape.backward(loss());
  return x.grad().clone();
}

}  // namespace

TEST_CASE("a hook that keeps what it sees changes no bit, where rows are taken twice", "[hooks]") {
  Var x = Var::leaf(normal({5, 3}, 0, 1, {1, 0}, DType::Float64));
  auto loss = [&] {
    Var rows = index_select(x, 0, random_integers({64}, 0, 5, {2, 0}));
    // The transpose's gradient comes first, a view.
    Var across = transpose(x, 0, 1), turned = sqrt(1.0 + across * across);
    return sum(rows * rows) + sum(turned);
  };
  CHECK(same_bits(gradient_of(x, true, loss), gradient_of(x, false, loss)));
}

TEST_CASE("a hook that keeps what it sees changes no bit, where a gradient is transposed",
          "[hooks]") {
  for (std::uint64_t k = 0; k < 30; ++k) {
    Var x = Var::leaf(normal({3, 4, 1}, 0, 1, {k, 0}, DType::Float64)),
        other(normal({3, 4, 1}, 0, 1, {k, 1}, DType::Float64));
    auto loss = [&] {
      Var product = matmul(x, transpose(other)), heights = logsumexp(product, 0, false);
      return sum(matmul(heights, transpose(product)));  // the transpose's gradient comes first
    };
    CHECK(same_bits(gradient_of(x, true, loss), gradient_of(x, false, loss)));
  }
}

TEST_CASE("what a hook returns replaces the gradient, for later hooks too", "[hooks]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = mul(x, 1.0);
  Hook first(tape, h, [](const Var& g) { return mul(g, 10.0); });
  Hook second(tape, h, [](const Var& g) { return add(g, 1.0); });
  tape.backward(sum(h));
  CHECK(list(x.grad()) == std::vector<double>{11, 11});
}

TEST_CASE("a replacement of another shape or dtype is an error that says where", "[hooks]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Scope scope("encoder");
  Var h = named(mul(x, 1.0), "query");
  Hook longer(tape, h, [](const Var&) { return Var(zeros({3}, DType::Float64)); });
  std::string text = error_of<ShapeError>([&] { tape.backward(sum(h), {.retain = true}); });
  INFO(text);
  CHECK(contains(text, "encoder.query"));
  CHECK(contains(text, "(3,) float64"));
  longer.stop();
  Hook narrower(tape, h, [](const Var&) { return Var(zeros({2}, DType::Float32)); });
  CHECK_FALSE(error_of<ShapeError>([&] { tape.backward(sum(h)); }).empty());
}

TEST_CASE("freezing: zeros stop a gradient from going further", "[hooks]") {
  Var x = leaf_of({1, 2}), w = leaf_of({3, 4}, "w");
  Tape tape;
  Var h = exp(x);
  Hook first(tape, h, [](const Var& g) { return Var(zeros(g.shape(), g.dtype())); });
  tape.backward(sum(mul(h, w)));
  CHECK(list(x.grad()) == std::vector<double>{0, 0});
  CHECK(list(w.grad()) == list(h.value()));
}

TEST_CASE("hooks can be removed, by others and by themselves, while they run", "[hooks]") {
  Var x = leaf_of({1});
  Tape tape;
  Var h = mul(x, 2.0), loss = sum(h);
  std::vector<std::string> calls;
  std::optional<Hook> later, self;
  Hook remover(tape, h, [&](const Var&) {
    calls.push_back("remover");
    later.reset();
    return Var();
  });
  self.emplace(tape, h, [&](const Var&) {
    calls.push_back("once");
    self.reset();
    return Var();
  });
  later.emplace(tape, h, [&](const Var&) {
    calls.push_back("removed");
    return Var();
  });
  tape.backward(loss, {.retain = true});
  CHECK(calls == std::vector<std::string>{"remover", "once"});
  tape.backward(loss);
  CHECK(calls == std::vector<std::string>{"remover", "once", "remover"});
}

TEST_CASE("the hooks after one that ends itself run once each", "[hooks]") {
  Var x = leaf_of({1});
  Tape tape;
  Var h = mul(x, 2.0);
  std::vector<std::string> calls;
  std::optional<Hook> once;
  once.emplace(tape, h, [&](const Var&) {
    calls.push_back("once");
    once.reset();
    return Var();
  });
  Hook second(tape, h, [&](const Var&) {
    calls.push_back("second");
    return Var();
  });
  Hook third(tape, h, [&](const Var&) {
    calls.push_back("third");
    return Var();
  });
  tape.backward(sum(h));
  CHECK(calls == std::vector<std::string>{"once", "second", "third"});
}

TEST_CASE("a hook added while hooks run waits for the next backward", "[hooks]") {
  Var x = leaf_of({1});
  Tape tape;
  Var h = mul(x, 2.0), loss = sum(h);
  int calls = 0, added = 0;
  std::list<Hook> hooks;
  Hook first(tape, h, [&](const Var&) {
    if (!added++)
      for (int i = 0; i < 50; ++i)
        hooks.emplace_back(tape, h, [&](const Var&) {
          ++calls;
          return Var();
        });
    return Var();
  });
  tape.backward(loss, {.retain = true});
  CHECK(calls == 0);
  tape.backward(loss);
  CHECK(calls == 50);
}

TEST_CASE("pattern hooks match paths, of nodes that come later too", "[hooks]") {
  Var x = leaf64({2, 2}, 1, "model.weight");
  Tape tape;
  std::vector<std::string> shapes;
  Hook first(tape, "layers.*.probs", [&](const Var& g) {
    shapes.push_back(to_string(g.shape()));
    return Var();
  });
  int weights = 0;
  Hook second(tape, "model.weigh?", [&](const Var&) {
    ++weights;
    return Var();
  });
  Var y = x;
  for (const char* layer : {"0", "1", "2"}) {
    Scope layers("layers"), number(layer);
    y = named(softmax(y), "probs");
    y = named(mul(y, y), "other");
  }
  tape.backward(sum(y));
  CHECK(shapes.size() == 3);
  CHECK(weights == 1);
}

TEST_CASE("gradients asked for are read after the hooks, and need none of their own", "[hooks]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = mul(x, 1.0);
  Hook first(tape, x, [](const Var& g) { return mul(g, 3.0); });
  Hook second(tape, h, [](const Var& g) { return mul(g, 5.0); });
  auto d = tape.grad(sum(h), {x, h}, {}, {.retain = true});
  CHECK(list(d[0].value()) == std::vector<double>{15, 15});
  CHECK(list(d[1].value()) == std::vector<double>{5, 5});
}

TEST_CASE("a hook of a gradient that is recorded is recorded itself", "[hooks]") {
  Var x = leaf_of({2});
  Tape tape;
  Var h = mul(x, 1.0);
  Hook squares(tape, h, [](const Var& g) { return mul(g, g); });
  // y = x³: dy/dh = 3h², squared by the hook: 9x⁴, whose derivative is 36x³
  Var dx = tape.grad(sum(mul(mul(h, h), h)), {x}, {}, {.create_graph = true})[0];
  CHECK(dx.item() == 144);
  squares.stop();
  Var ddx = tape.grad(sum(dx), {x})[0];
  CHECK(ddx.item() == Approx(288.0));
}

TEST_CASE("hooks want a value of this tape", "[hooks]") {
  Tape tape;
  CHECK_THROWS_AS(Hook(tape, Var(ones({2})), [](const Var&) { return Var(); }), StateError);
  Var frozen = leaf_of({1});
  frozen.leaf().trainable = false;
  CHECK_THROWS_AS(Hook(tape, frozen, [](const Var&) { return Var(); }), StateError);
}

TEST_CASE("a null hook is refused where it is added", "[hooks]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = mul(x, x);
  const std::string null = "hook: the hook is null: pass a function of the gradient";
  CHECK(error_of<ValueError>([&] { Hook(tape, h, Hook::Function()); }) == null);
  CHECK(error_of<ValueError>([&] { Hook(tape, "*", nullptr); }) == null);
  tape.backward(sum(h));
  CHECK(list(x.grad()) == std::vector<double>{2, 4});
}

}  // namespace test_hooks
