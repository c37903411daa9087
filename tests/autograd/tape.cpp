// The records of a tape, and the gradients that backward and grad give.
#include "autograd/tape.hpp"

#include <optional>

#include "autograd/gradcheck/gradcheck.hpp"
#include "tests/autograd/common.hpp"

namespace test_tape {

using namespace glim;

TEST_CASE("backward fills the leaves", "[tape]") {
  Var x = Var::leaf(tensor({1, 2, 3}, DType::Float64), "x");
  Var w = Var::leaf(tensor({4, 5, 6}, DType::Float64), "w");
  {
    Tape tape;
    tape.backward(sum(mul(x, w)));
  }
  CHECK(x.grad().to_vector<double>() == std::vector<double>{4, 5, 6});
  CHECK(w.grad().to_vector<double>() == std::vector<double>{1, 2, 3});
  {
    Tape tape;
    tape.backward(sum(x * x));  // one value used twice, added to what was there
  }
  CHECK(x.grad().to_vector<double>() == std::vector<double>{6, 9, 12});
}

TEST_CASE("the arguments of a recorded op are those of its call", "[tape]") {
  Var x = Var::leaf(ones({2, 6}));
  Tape tape;
  gelu(x);
  gelu(x, GeluForm::Tanh);
  slice(x, 1, 1, 6, 2);
  std::vector<double> said;
  for (const Node& node : tape.nodes())
    if (node.op)
      for (const Argument& a : node.op->arguments()) said.push_back(a.number);
  CHECK(said == std::vector<double>{0, 1, 1, 1, 6, 2});
}

TEST_CASE("the gradient of a gradient", "[tape]") {
  Var x = Var::leaf(tensor({2}, DType::Float64), "x");
  Tape tape;
  Var y = sum(mul(mul(x, x), x));  // x³
  Var dx = tape.grad(y, {x}, {}, {.create_graph = true})[0];
  CHECK(dx.value().at<double>({0}) == 12);
  Var ddx = tape.grad(sum(dx), {x}, {}, {.create_graph = true})[0];
  CHECK(ddx.value().at<double>({0}) == 12);
  tape.backward(sum(ddx));
  CHECK(x.grad().at<double>({0}) == 6);
}

TEST_CASE("a recorded gradient is differentiable in dy", "[tape]") {
  const Tensor x = tensor({1, -2}, DType::Float64), u = tensor({1, 10}, DType::Float64);
  for (bool computed : {false, true}) {
    Var leaf = Var::leaf(x.clone(), "x"), v = leaf_of({0.5, 3}, "v");
    Tape tape;
    Var y = leaf * leaf * leaf;
    Var dx = tape.grad(y, {leaf}, computed ? v * 1.0 : v, {.create_graph = true})[0];  // 3 x² v
    std::vector<Var> d = tape.grad(dx, {v, leaf}, u);
    CHECK(list(d[0].value()) == std::vector<double>{3, 120});   // 3 x² u
    CHECK(list(d[1].value()) == std::vector<double>{3, -360});  // 6 x v u
  }
  const auto back = [](const std::vector<Var>& in) {
    Var y = tanh(in[0]) * in[0];
    return Tape::open()->grad(y, {in[0]}, in[1], {.create_graph = true})[0];
  };
  CHECK(gradcheck(back, {{"x", x}, {"dy", u}}));
}

TEST_CASE("without a graph the gradient of dy's own tape is a constant", "[tape]") {
  Var x = leaf_of({1, 2}, "x"), v = leaf_of({3, 4}, "v");
  Tape tape;
  Var dx = tape.grad(x * x, {x}, v * 2.0)[0];
  CHECK_FALSE(dx.requires_grad());
  CHECK(list(dx.value()) == std::vector<double>{12, 32});
}

TEST_CASE("a chain of 100,000 ops neither recurses nor leaks", "[tape]") {
  Var x = Var::leaf(tensor({1}, DType::Float64), "x");
  Tape tape;
  Var y = x;
  for (int i = 0; i < 100000; ++i) y = add(y, 1.0);
  tape.backward(sum(y));
  CHECK(x.grad().at<double>({0}) == 1);
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
  CHECK(std::ranges::equal(tape.nodes()[1].inputs, std::vector<int>{0, -1}));
  CHECK(y.requires_grad());
  CHECK_FALSE(y.detach().requires_grad());
}

TEST_CASE("inputs from 63 on need a gradient if one of them does", "[tape]") {
  for (std::size_t leaf : {0, 69}) {
    std::vector<Var> parts(70, Var(ones({1}, DType::Float64)));
    parts[leaf] = leaf_of({1});
    Tape tape;
    const Op& op = *tape.nodes()[tape.node_of(concatenate(parts, 0))].op;
    CHECK(op.needs_grad(0) == (leaf == 0));
    for (std::size_t k : {63, 64, 69}) CHECK(op.needs_grad(k) == (leaf == 69));
  }
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

TEST_CASE("grad visits no op before the first x", "[tape]") {
  Var x = Var::leaf(tensor({2}, DType::Float64));
  Tape tape;
  Var a = x * x, y = sum(a * a);
  CHECK(tape.grad(y, {a})[0].item() == 8);
  CHECK(tape.grad(a, {x})[0].item() == 4);  // nothing of it was used up
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

TEST_CASE("a number that is not on the tape is an error", "[tape]") {
  Tape tape;
  Var y = sum(leaf64({2}, 1));
  for (int i : {-1, 2, 1 << 30}) {
    CHECK_THROWS_AS(tape.path(i), IndexError);
    StateError e("x", "y");
    CHECK_THROWS_AS(place(e, tape, i), IndexError);
  }
  CHECK(tape.path(1) == "sum");
}

TEST_CASE("pauses may end in any order", "[tape]") {
  Var x = leaf64({2}, 1);
  Tape tape;
  std::optional<NoGrad> first(std::in_place), second(std::in_place);
  first.reset();
  CHECK_FALSE(sum(x).requires_grad());
  second.reset();
  CHECK(sum(x).requires_grad());
  {
    NoGrad none(false);
    CHECK(sum(x).requires_grad());
  }
  NoGrad pause;
  NoGrad no_pause(false);
  CHECK_FALSE(sum(x).requires_grad());
}

TEST_CASE("a pause may outlive its tape", "[tape]") {
  std::optional<Tape> tape(std::in_place);
  std::optional<NoGrad> pause(std::in_place);
  tape.reset();
  pause.reset();
  Tape next;
  CHECK(sum(leaf64({2}, 1)).requires_grad());
}

TEST_CASE("a leaf frozen after forward gets no gradient", "[tape]") {
  Var x = leaf64({2}, 1), w = leaf64({2}, 2);
  Tape tape;
  Var y = sum(x * w);
  w.leaf().trainable = false;
  tape.backward(y, {.retain = true});
  CHECK(same_bits(x.grad(), w.value()));
  CHECK_FALSE(w.grad().defined());
  w.leaf().trainable = true;
  tape.backward(y);
  CHECK(w.grad().defined());
}

}  // namespace test_tape
