// An exception leaves nothing behind, in forward, in backward or in a hook.

#include "tests/autograd/common.hpp"

namespace test_exceptions {

using namespace glim;

namespace {

// Works forward; throws where it is told to.
struct Fragile final : Op {
  static constexpr Formula formula{"planted.fragile", "y = x", {"dx = dy"}};
  explicit Fragile(bool in_forward) : in_forward_(in_forward) {}
  Tensor forward(const Tensor& x) {
    if (in_forward_) throw ValueError("planted.fragile", "forward failed");
    return x.clone();
  }
  Grads gradient(const Var&) const override {
    throw ValueError("planted.fragile", "backward failed");
  }

 private:
  bool in_forward_;
};
Var fragile(const Var& x, bool in_forward = false) { return apply(Fragile(in_forward), x); }

struct NoGradient final : Op {
  static constexpr Formula formula{"planted.no_gradient", "y = x", {"dx = dy"}};
  Tensor forward(const Tensor& x) { return x.clone(); }
  Grads gradient(const Var&) const override { return {}; }
};

}  // namespace

TEST_CASE("an exception in forward leaves tape, scope and pause as they were", "[tape]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = exp(x);
  auto size = tape.nodes().size();
  CHECK_THROWS_AS(
      [&] {
        Tape inner;
        Scope scope("broken");
        NoGrad paused;
        fragile(x, true);
      }(),
      ValueError);
  CHECK(Tape::current() == &tape);
  CHECK(Scope::path().empty());
  CHECK_THROWS_AS(fragile(h, true), ValueError);
  CHECK(tape.nodes().size() == size);
  tape.backward(sum(h));
  CHECK(list(x.grad()) == list(h.value()));
}

TEST_CASE("an exception in backward says where, and the tape can go on", "[tape]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Scope scope("layers");
  Var h = exp(x), broken = sum(named(fragile(h), "fragile")), good = sum(mul(h, 2.0));
  std::string text = error_of<ValueError>([&] { tape.backward(broken, {.retain = true}); });
  INFO(text);
  CHECK(contains(text, "in layers.fragile, at exceptions.cpp:"));
  CHECK(Tape::current() == &tape);
  CHECK_FALSE(x.grad().defined());
  tape.backward(good);
  for (std::size_t i = 0; i < 2; ++i) CHECK(list(x.grad())[i] == Approx(2 * list(h.value())[i]));
}

TEST_CASE("an exception in a hook or in grad leaves nothing behind", "[tape]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = exp(x);
  Hook throws(tape, h, [](const Var&) -> Var { throw ValueError("hook", "on purpose"); });
  Var loss = sum(h);
  CHECK_THROWS_AS(tape.grad(loss, {x, h}, {}, {.create_graph = true}), ValueError);
  CHECK(Tape::current() == &tape);
  throws.stop();
  // The place where grad() reads its results is gone: the next backward writes to nobody's stack.
  auto d = tape.grad(loss, {x, h}, {}, {.retain = true});
  CHECK(list(d[0].value()) == list(h.value()));
  tape.backward(loss);
  CHECK(list(x.grad()) == list(h.value()));
}

TEST_CASE("an op that returns no gradient where one is needed is named", "[tape]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var y = sum(apply(NoGradient{}, x));
  std::string text = error_of<StateError>([&] { tape.backward(y); });
  INFO(text);
  CHECK(contains(text, "planted.no_gradient"));
  CHECK(contains(text, "gives no gradient for x"));
}

}  // namespace test_exceptions
