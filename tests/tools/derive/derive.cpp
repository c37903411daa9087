// A tape is written out: own ops and modules, sums and equal layers. Some tapes cannot be written.
#include "tools/derive/derive.hpp"

#include <sstream>

#include "autograd/observe/hook.hpp"
#include "autograd/ops.hpp"
#include "autograd/products.hpp"
#include "nn/layer_norm.hpp"
#include "nn/linear.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"
#include "tools/derive/second_order.hpp"
#include "tools/derive/sheet.hpp"

namespace test_derive {

using namespace glim;
using namespace glim::derive;

namespace {

struct Cube final : Unary<Cube> {  // an op outside the tree
  static constexpr Formula formula{"own_cube", "y = x³", {"dx = 3 x² ⊙ dy"}};
  Tensor forward(const Tensor& x) {
    save(X);
    return mul(x, mul(x, x));
  }
  Var dx(const Var& dy) const { return 3 * x() * x() * dy; }
};

struct Silent final : Unary<Silent> {
  static constexpr Formula formula{"own_silent", "y = f(x)"};
  Tensor forward(const Tensor& x) { return mul(x, 2); }
  Var dx(const Var& dy) const { return 2 * dy; }
};

struct Twice final : Fused {  // with an explicit form
  static constexpr Formula formula{"own_twice", "y = 2 x", {"dx = 2 dy"}};
  enum Input { X };
  Var explicit_form(const Var& x) const { return x + x; }
  Tensor forward(const Tensor& x) { return add(x, x); }
  Grads gradient(const Var& dy) const override { return Grads(2 * dy); }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <class F>
std::string written(const F& loss, bool equations = true) {
  ConstantNames names;
  Tape tape({.replay = true});
  tape.observe(names);
  const Var y = loss();
  return text_of(
      sheet_of(Listing(trace_of(Pass(tape, y), names.names), equations), {}, "", equations));
}

template <class F>
std::string program(const F& loss) {
  UseForm form(OpForm::Explicit);
  ConstantNames names;
  Tape tape({.replay = true});
  tape.observe(names);
  const Var y = loss();
  return numpy_program(Listing(trace_of(Pass(tape, y), names.names)), {},
                       {"own", "glim derive", "data.npz"});
}

}  // namespace

TEST_CASE("An op outside the tree is written by its formula, with names for its letters") {
  const Var x = Var::leaf(ones({2, 3}), "x");
  const std::string text =
      written([&] { return sum(named(apply(Cube{}, named(2 * x, "scaled")), "cubed")); });
  CHECK(contains(text, "cubed = scaled³"));
  CHECK(contains(text, "dscaled = 3 scaled² ⊙ dcubed"));
}

TEST_CASE("An op that has no equations is written by its name") {
  const Var x = Var::leaf(ones({2, 3}), "x");
  const std::string text = written([&] { return sum(named(apply(Silent{}, x), "h")); });
  CHECK(contains(text, "h = own_silent(x)"));
  CHECK(contains(text, "dx = rule of own_silent (dh)"));
}

TEST_CASE("An op with an explicit form is part of a program; one without is named") {
  const Var x = Var::leaf(ones({2, 3}), "x");
  CHECK(contains(program([&] { return sum(apply(Twice{}, x)); }), "w[\"x\"] + w[\"x\"]"));
  CHECK(contains(error_of([&] { program([&] { return sum(apply(Cube{}, x)); }); }),
                 "the op own_cube has no primitives"));
}

TEST_CASE("A value that is read several times has its sum in the order of the engine") {
  const Var x = Var::leaf(ones({2}), "x");
  auto loss = [&] {
    const Var h = named(exp(x), "h");
    return sum(h * x + h);
  };
  const std::string text = written(loss);
  CHECK(contains(text, "dh += dmul ⊙ x    (2 of 2)"));
  CHECK(contains(text, "(1 of 2)"));
  CHECK(contains(written(loss, false), "dh = "));
}

TEST_CASE("A module outside the tree is written out, and an unknown one has its nearest names") {
  Tape tape({.replay = true});
  Linear linear(3, 4);
  const Var x(ones({2, 3}));
  Var y;
  {
    UseForm form(OpForm::Explicit);
    Scope scope("encoder");
    y = sum(linear(x));
  }
  const Listing listing(trace_of(Pass(tape, y)), true);
  CHECK(contains(text_of(sheet_of(listing, {}, "encoder", true)), "dweight"));
  CHECK(contains(error_of([&] { sheet_of(listing, {}, "encodr", true); }),
                 "no module 'encodr' (nearest: encoder)"));
}

namespace {

std::string printed(Tape& tape, const BackwardLines& lines = {}) {
  std::ostringstream out;
  print_backward(tape, out, lines);
  return out.str();
}

}  // namespace

TEST_CASE("A tape whose values are gone is refused in one line") {
  const Var x = Var::leaf(ones({2}), "x");
  {
    Tape tape;
    sum(x * 2);
    CHECK(contains(error_of([&] { printed(tape); }),
                   "recorded without replay: set `replay` on its tape"));
  }
  Tape tape({.replay = true});
  CHECK(contains(error_of([&] { printed(tape); }), "no op is on the tape"));
  tape.backward(sum(x * 2));
  for (const bool primitives : {false, true})
    CHECK(contains(error_of([&] {
                     printed(tape, {"", primitives ? "primitives" : "rules"});
                   }),
                   "was used up by a backward"));
}

TEST_CASE("A hook that changes a gradient is named, one that looks on is not") {
  const Var x = Var::leaf(ones({2}), "x");
  for (const bool primitives : {false, true}) {
    Tape tape({.replay = true});
    const Var h = named(x * x, "h"), g = named(exp(h), "g");
    sum(g * h);
    Hook looks(tape, g, [](const Var&) { return Var(); });
    CHECK(!contains(printed(tape), "hook"));
    Hook doubles(tape, h, [](const Var& dy) { return dy * 2; });
    const std::string text = printed(tape, {"", primitives ? "primitives" : "rules"});
    CHECK(contains(text, "A hook changes the gradient of h: "));
    CHECK(!contains(text, "gradient of g"));
  }
}

TEST_CASE("Each sum names its axes, and the shape that it leaves") {
  const Var x = Var::leaf(ones({2, 3, 4}), "x"), column = Var::leaf(ones({3, 1}), "column");
  LayerNorm norm(4);
  for (const bool primitives : {false, true}) {
    Tape tape({.replay = true});
    {
      UseForm form(OpForm::Explicit);
      sum(sum(norm(softmax(x, 1)) * column, {0}) * 3);
    }
    const std::string text = printed(tape, {"", primitives ? "primitives" : "rules"});
    CHECK(contains(text, primitives ? "Σ_0(add ⊙ column) as" : " = Σ_0(mul"));
    CHECK(contains(text, "Σ_-1(-dcentered)"));
    CHECK(contains(text, ") as (3, 4)"));
    CHECK(contains(text, ") as (3, 1)"));
    CHECK(contains(text, "Σ_1("));
    std::size_t bare = 0;
    for (std::size_t at = 0; (at = text.find("Σ(", at)) != std::string::npos; ++at) ++bare;
    CHECK(bare == 1);  // the loss
  }
}

TEST_CASE("A factor with no line has its gradient named by its formula") {
  const Var x = Var::leaf(ones({2, 3}), "x"), w = Var::leaf(ones({3, 4}), "w");
  const Var b = Var::leaf(ones({4}), "b");
  Tape tape({.replay = true});
  sum(exp(named(matmul(x, w) * 3 + b, "h")));
  CHECK(contains(printed(tape, {"", "primitives"}), "dmatmul = d(x w) = 3 dh"));
}

TEST_CASE("The gradient of a transposed factor is a product turned round") {
  Tape tape({.replay = true});
  const Var x = Var::leaf(ones({2, 3, 4}), "x"), w = Var::leaf(ones({5, 12}), "w");
  sum(matmul(reshape(permute(x, {1, 0, 2}), {2, 12}), transpose(w)));
  CHECK(contains(printed(tape), "dw = dmatmulᵀ (permute(x, (1, 0, 2)) as (2, 12))"));
}

TEST_CASE("The gradient of a factor that all leading axes share is summed over them") {
  for (const bool primitives : {false, true}) {
    Tape tape({.replay = true});
    const Var x = Var::leaf(ones({2, 3, 4}), "x"), w = Var::leaf(ones({5, 4}), "w");
    const Var a = Var::leaf(ones({1, 6, 3}), "a");
    sum(exp(named(matmul(a, named(matmul(x, transpose(w)), "h")), "y")));
    const std::string text = printed(tape, {"", primitives ? "primitives" : "rules"});
    INFO(text);
    CHECK(contains(text, "dw = Σ_0(dhᵀ x)") != primitives);
    CHECK(contains(text, "da = Σ_0(dy hᵀ)"));
  }
}

TEST_CASE("Powers, recurrences and choices are written with what they read") {
  const Var x = Var::leaf(tensor({1, -2, 3}), "x"), y = Var::leaf(tensor({2, 3, 4}), "y");
  auto loss = [&] {
    return sum(pow(y, x)) + sum(cumprod(x, 0)) + sum(softplus(x)) + sum(elu(x)) +
           sum(leaky_relu(x));
  };
  const std::string numpy = program(loss);
  INFO(numpy);
  for (const char* part :
       {"w[\"y\"] ** w[\"x\"]", "def linear_recurrence(", "linear_recurrence(", ", 0, True)",
        "np.logaddexp(0, w[\"x\"])", "np.expm1(", "np.where(w[\"x\"] > 0"})
    CHECK(contains(numpy, part));
  CHECK(!contains(numpy, "1.reshape"));
  CHECK(!contains(numpy, "batch[\""));  // nothing that x decides is taken for data
  CHECK(contains(written(loss), "recurrence(x[1:3], "));
}

TEST_CASE(
    "The second order of a head is the Hessian times v, and the change of each value along v") {
  UseForm form(OpForm::Explicit);
  auto draw = [](const Shape& shape, std::uint64_t stream) {
    return normal(shape, 0, 1, {4, stream}, DType::Float64);
  };
  const Var x = Var::leaf(draw({1, 3, 4}, 1), "x"), w = Var::leaf(draw({4, 4}, 2), "w");
  auto context = [&](const Var& tokens, const Var& weight) {
    const Var q = named(matmul(tokens, weight), "q");
    const Var probs =
        named(softmax(named(matmul(q, transpose(tokens, -1, -2)), "scores"), -1), "probs");
    return named(matmul(probs, tokens), "context");
  };
  auto loss = [&] { return sum(tanh(context(x, w))); };
  ConstantNames names;
  Pass pass([&] { return along_directions(loss(), names); });
  while (pass.current() >= 0) pass.step();
  const Tensor vx = names.names[0].first, vw = names.names[1].first;
  REQUIRE(names.names[1].second == "v.w");
  const std::vector<Var> hv = [&] {
    Tape tape;
    return hvp(tape, loss(), {x, w}, {vx, vw});
  }();
  const double h = 1e-5;
  auto probs_at = [&](double step) {
    const Var tokens = x.value() + step * vx;
    return softmax(matmul(matmul(tokens, Var(w.value() + step * vw)), transpose(tokens, -1, -2)),
                   -1)
        .value();
  };
  for (const PassNode& n : pass.nodes()) {
    if (n.path == "x") CHECK(distance(n.gradient, hv[0].value()) < 1e-12);
    if (n.path == "w") CHECK(distance(n.gradient, hv[1].value()) < 1e-12);
    if (n.label == "dprobs")
      CHECK(distance(n.gradient, div(probs_at(h) - probs_at(-h), 2 * h)) < 1e-8);
  }
  const Trace trace = trace_of(pass, names.names);
  CHECK(std::ranges::any_of(trace.values, [](const Value& v) { return v.path == "dprobs"; }));
}

TEST_CASE("A tape is printed the same twice") {
  Tape tape({.replay = true});
  Linear linear(3, 4);
  sum(linear(Var(ones({2, 3}))));
  const std::string text = printed(tape);
  CHECK(contains(text, "dweight"));
  CHECK(printed(tape) == text);
}

}  // namespace test_derive
