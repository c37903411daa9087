// Life and death of tapes: nesting, values that outlive them, exceptions on the way.
#include <memory>
#include <optional>
#include <thread>

#include "autograd/gradcheck/gradcheck.hpp"
#include "tests/autograd/common.hpp"

namespace test_tapes {

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

TEST_CASE("without a tape nothing is recorded", "[tape]") {
  Var x = leaf_of({1, 2});
  Var y = mul(x, x);
  CHECK(Tape::current() == nullptr);
  CHECK_FALSE(y.requires_grad());
  Tape tape;
  CHECK(tape.nodes().empty());
  CHECK_THROWS_AS(tape.backward(sum(y)), StateError);
}

TEST_CASE("what no gradient flows into is not recorded", "[tape]") {
  Var constant(tensor({1, 2}, DType::Float64)), x = leaf_of({3, 4});
  Tape tape;
  exp(constant);
  CHECK(tape.nodes().empty());
  Var y = mul(x, exp(constant));
  CHECK(tape.nodes().size() == 2);  // the leaf, and mul
  CHECK(tape.nodes()[1].inputs == std::vector<int>{0, -1});
  CHECK(y.requires_grad());
  CHECK_FALSE(y.detach().requires_grad());
}

TEST_CASE("leaves that are not trainable are constants", "[tape]") {
  Var w = leaf_of({1, 2}, "w"), frozen = leaf_of({3, 4}, "frozen");
  frozen.leaf().trainable = false;
  Tape tape;
  exp(frozen);
  CHECK(tape.nodes().empty());
  Var loss = sum(mul(w, frozen));
  CHECK(list(tape.grad(loss, {frozen}, {}, {.retain = true})[0].value()) ==
        std::vector<double>{0, 0});
  tape.backward(loss);
  CHECK(list(w.grad()) == std::vector<double>{3, 4});
  CHECK_FALSE(frozen.grad().defined());
}

TEST_CASE("gradients add up over tapes until they are dropped", "[tape]") {
  Var x = leaf_of({1, 2});
  for (int i = 0; i < 3; ++i) {
    Tape tape;
    tape.backward(sum(mul(x, 2.0)));
  }
  CHECK(list(x.grad()) == std::vector<double>{6, 6});
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("gradients of a leaf without elements add up as well", "[tape]") {
  Var x = leaf64({4, 0}, 1);
  for (int i = 0; i < 2; ++i) {
    Tape tape;
    tape.backward(mean(x, {0}), zeros({0}, DType::Float64));
  }
  CHECK(x.grad().shape() == Shape{4, 0});
}

TEST_CASE("one loss in two parts, or two losses on one tape, give the same sum", "[tape]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = exp(x);
  tape.backward(sum(mul(h, 2.0)), {.retain = true});
  tape.backward(sum(mul(h, 3.0)));
  std::vector<double> parts = list(x.grad());
  x.zero_grad();
  Tape again;
  tape.nodes();
  Var k = exp(x);
  again.backward(sum(mul(k, 5.0)));
  for (std::size_t i = 0; i < 2; ++i) CHECK(list(x.grad())[i] == Approx(parts[i]));
}

TEST_CASE("a second backward over what is used up is an error that names the node", "[tape]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Scope scope("encoder");
  Var h = named(exp(x), "hidden");
  tape.backward(sum(h));
  std::string text = error_of<StateError>([&] { tape.backward(sum(mul(h, h))); });
  INFO(text);
  CHECK(contains(text, "encoder.hidden"));
  CHECK(contains(text, "retain"));
}

TEST_CASE("the loss has one element, or a dy of its shape", "[tape]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var y = mul(x, 2.0);
  CHECK_THROWS_AS(tape.backward(y), ShapeError);
  CHECK_THROWS_AS(tape.backward(y, ones({3}, DType::Float64)), ShapeError);
  CHECK_THROWS_AS(tape.backward(y, ones({2}, DType::Float32)), ShapeError);
  CHECK_THROWS_AS(tape.grad(y, {x}), ShapeError);
  CHECK_THROWS_AS(tape.grad(y, {x}, ones({3}, DType::Float64)), ShapeError);
  for (const Tensor& dy : {ones({3}, DType::Float64), ones({2}, DType::Float32)})
    CHECK(contains(error_of([&] { tape.grad(y, {x}, dy); }), "grad: dy must have y's shape"));
  tape.backward(y, tensor({3, 5}, DType::Float64));
  CHECK(list(x.grad()) == std::vector<double>{6, 10});
}

TEST_CASE("grad of what y does not depend on is zero", "[tape]") {
  Var x = leaf_of({1, 2}), z = leaf_of({1, 2, 3}, "z");
  Tape tape;
  Var y = sum(x), later = exp(x);
  auto d = tape.grad(y, {z, later, x, x}, {}, {.retain = true});
  CHECK(list(d[0].value()) == std::vector<double>{0, 0, 0});
  CHECK(list(d[1].value()) == std::vector<double>{0, 0});
  CHECK(list(d[2].value()) == std::vector<double>{1, 1});
  CHECK(list(d[3].value()) == std::vector<double>{1, 1});
  CHECK_FALSE(x.grad().defined());  // grad leaves leaves alone
  CHECK(list(tape.grad(x, {x}, tensor({7, 8}, DType::Float64))[0].value()) ==
        std::vector<double>{7, 8});
}

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
  x.hook([&](const Var& g) {
    ++calls;
    CHECK(g.item() == 9);  // complete
    return Var();
  });
  outer.backward(sum(add(before, after)));
  CHECK(calls == 1);
  CHECK(x.grad().item() == 9);
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

TEST_CASE("gradients by a value of another tape are an error, not zeros", "[tape]") {
  Var x = leaf_of({1, 2}), h;
  {
    Tape gone;
    h = exp(x);
  }
  Tape tape;
  Var y = sum(x);
  CHECK_THROWS_AS(tape.grad(y, {h}), StateError);
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
  CHECK(contains(text, "in layers.fragile, at tapes.cpp:"));
  CHECK(Tape::current() == &tape);
  CHECK_FALSE(x.grad().defined());
  tape.backward(good);
  for (std::size_t i = 0; i < 2; ++i) CHECK(list(x.grad())[i] == Approx(2 * list(h.value())[i]));
}

TEST_CASE("an exception in a hook or in grad leaves nothing behind", "[tape]") {
  Var x = leaf_of({1, 2});
  Tape tape;
  Var h = exp(x);
  int id = tape.hook(h, [](const Var&) -> Var { throw ValueError("hook", "on purpose"); });
  Var loss = sum(h);
  CHECK_THROWS_AS(tape.grad(loss, {x, h}, {}, {.create_graph = true}), ValueError);
  CHECK(Tape::current() == &tape);
  tape.remove_hook(id);
  // What grad() had set up to read its results is gone: the next backward writes to nobody's stack.
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

TEST_CASE("third derivatives", "[tape]") {
  Var x = leaf_of({0.7});
  Tape tape;
  Var y = sum(sin(x)), d = y;
  for (int order = 0; order < 3; ++order) d = sum(tape.grad(d, {x}, {}, {.create_graph = true})[0]);
  CHECK(d.item() == Approx(-std::cos(0.7)));
  tape.backward(d);
  CHECK(x.grad().item() == Approx(std::sin(0.7)));
}

TEST_CASE("the recorded backward lies on the tape under its own scope", "[tape]") {
  Var x = leaf_of({1, 2}, "w");
  Tape tape;
  Scope scope("encoder");
  Var y = sum(named(exp(x), "hidden"));
  auto size = tape.nodes().size();
  tape.grad(y, {x}, {}, {.create_graph = true});
  CHECK(tape.nodes().size() > size);
  bool found = false;
  for (auto i = static_cast<int>(size); i < static_cast<int>(tape.nodes().size()); ++i)
    found = found || tape.path(i).rfind("d(encoder.hidden)", 0) == 0;
  CHECK(found);
}

TEST_CASE("paths: glob patterns", "[tape]") {
  CHECK(glob_match("*", ""));
  CHECK(glob_match("*.probs", "a.b.probs"));
  CHECK_FALSE(glob_match("*.probs", "probs"));
  CHECK(glob_match("a?c", "abc"));
  CHECK_FALSE(glob_match("a?c", "ac"));
  CHECK(glob_match("*a*b*", "xxaxxbxx"));
  CHECK_FALSE(glob_match("*a*b", "xxaxxbxx"));
  CHECK(glob_match("", ""));
  CHECK_FALSE(glob_match("", "a"));
  CHECK(glob_match("**", "abc"));
  // No time wasted on going back and forth.
  CHECK_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

}  // namespace test_tapes
