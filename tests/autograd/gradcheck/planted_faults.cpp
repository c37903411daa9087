// The checker is tested too: ops that are wrong on purpose, each beside the right one, which
// passes. Every fault must be caught in both modes and blamed on the right input.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "autograd/gradcheck/mistakes.hpp"
#include "tensor/error.hpp"
#include "tests/autograd/common.hpp"
#include "tests/autograd/gradcheck/common.hpp"
#include "tests/autograd/gradcheck/wrong/wrong.hpp"
#include "tests/sanitized.hpp"

namespace test_planted_faults {

using namespace glim;
using namespace glim::wrongs;

namespace {

const std::vector<WrongOp>& ops() {
  static const std::vector<WrongOp> all = wrong_ops();
  return all;
}

std::vector<GradcheckInput> inputs_of(const WrongOp& op, DType dtype = DType::Float64) {
  std::vector<GradcheckInput> inputs;
  for (std::size_t k = 0; k < op.inputs.size(); ++k)
    inputs.push_back(uniform(op.inputs[k], 0.3, 2, {3, k}, DType::Float64).to(dtype));
  return inputs;
}

CheckedFunction checked_op(const WrongOp& op, const WrongGradient* wrong = nullptr) {
  return [&op, wrong](const Vars& x) { return planted(op, wrong, x); };
}

const WrongOp& named(std::string_view name) {
  for (const WrongOp& op : ops())
    if (op.name == name) return op;
  throw ValueError("test", "no such op");
}

}  // namespace

TEST_CASE("every wrong gradient is caught, and the op without it passes", "[faults]") {
  std::size_t caught = 0, at = 0;
  for (const WrongOp& op : ops())
    for (auto mode : {Mode::Full, Mode::Projection}) {
      INFO(op.name);
      CHECK(decided(gradcheck(checked_op(op), inputs_of(op), {.mode = mode})));
      CHECK(
          decided(gradcheck(checked_op(op), inputs_of(op), {.mode = mode, .second_order = true})));
      for (const WrongGradient& w : op.wrong) {
        if (at++ % kEvery != 0) continue;
        GradcheckReport report = gradcheck(checked_op(op, &w), inputs_of(op), {.mode = mode});
        INFO(w.mistake << "\n" << report);
        CHECK(report.undecidable() == 0);
        CHECK(report.problem.empty());
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
          CHECK((report.inputs[k].failed > 0) == (k == w.input));
        caught += !report;
      }
    }
  CHECK(caught >= 2 * 130 / kEvery);
}

TEST_CASE("two wrong nodes of one op are no op alone, and their product has no name", "[faults]") {
  const WrongOp& op = named("sin");
  const WrongGradient& w = op.wrong[4];
  const auto once = [&](const Var& x) { return planted(op, &w, {x}); };
  const auto x = inputs_of(op);
  REQUIRE(gradcheck([&](const Vars& v) { return once(v[0]); }, x)
              .inputs[0]
              .mistake.name.starts_with("a constant factor"));
  const GradcheckReport report = gradcheck([&](const Vars& v) { return once(once(v[0])); }, x);
  CHECK(report.ops_at_fault.size() == 1);
  CHECK(report.ops_at_fault[0].inputs[0].mistake.name.starts_with("a constant factor"));
  CHECK(report.inputs[0].mistake.name.empty());
}

TEST_CASE("a wrong gradient is named by what it looks like, a right one by nothing",
          "[faults][slow]") {
  Index mistakes = 0, rightly = 0, wrongly = 0;
  for (const WrongOp& op : ops()) {
    for (const GradcheckEntry& e : gradcheck(checked_op(op), inputs_of(op)).inputs)
      CHECK(e.mistake.name.empty());
    for (const WrongGradient& w : op.wrong) {
      const std::string name =
          gradcheck(checked_op(op, &w), inputs_of(op)).inputs[w.input].mistake.name;
      const bool fits = *w.looks && name.find(w.looks) != std::string::npos;
      ++mistakes;
      rightly += fits;
      wrongly += !fits && !name.empty();
      INFO(op.name << ", " << w.mistake << ": " << name);
      if (*w.looks) CHECK(fits);
      if (!*w.looks) CHECK(name.empty());
    }
  }
  CAPTURE(mistakes, rightly, wrongly);
  CHECK(mistakes >= 130);
  CHECK(rightly * 100 >= mistakes * 80);
  CHECK(wrongly * 100 <= mistakes * 3);
}

// Zeros, the identity, masks, constants, rows alike: what wrong gradients look like, and right here.
TEST_CASE("ten thousand right Jacobians get no name", "[faults]") {
  constexpr Index kSide = 6;
  constexpr double kRelative = 1e-5;
  for (std::uint64_t n = 0; n < 10000; ++n) {
    const std::vector<double> r = list(uniform({kSide, kSide}, -1, 1, {9, n}, DType::Float64));
    const std::vector<double> noise =
        list(uniform({kSide, kSide}, -0.9 * kRelative, 0.9 * kRelative, {10, n}, DType::Float64));
    detail::JacobianPair right{"x", {2, 3}, {1, 2, 3, 4, 5, 6}, r, {}, true};
    for (Index i = 0; i < kSide; ++i)
      for (Index k = 0; k < kSide; ++k) {
        double& a = right.analytic[static_cast<std::size_t>(i * kSide + k)];
        if (n % 8 == 1) a = 0;
        if (n % 8 == 2) a = i == k;
        if (n % 8 == 3 && i != k) a = 0;
        if (n % 8 == 4) a = a > 0;
        if (n % 8 == 5) a = 2;
        if (n % 8 == 6) a = r[static_cast<std::size_t>(k)];
        if (n % 8 == 7) a = r[static_cast<std::size_t>(std::min(i, k) * kSide + std::max(i, k))];
      }
    right.numeric = right.analytic;
    double largest = 0;
    for (double a : right.analytic) largest = std::max(largest, std::abs(a));
    for (std::size_t e = 0; e < right.numeric.size(); ++e) right.numeric[e] += noise[e] * largest;
    const detail::JacobianPairs all{{right}, {2, 3}, {1, 2, 3, 4, 5, 6}};
    INFO(n);
    REQUIRE(detail::likely_mistake(all, 0, kRelative).name.empty());
  }
}

TEST_CASE("wrong gradients are caught and named in float32 too", "[faults][slow]") {
  Index named = 0, rightly = 0;
  for (const WrongOp& op : ops()) {
    INFO(op.name);
    CHECK(decided(gradcheck(checked_op(op), inputs_of(op, DType::Float32))));
    for (const WrongGradient& w : op.wrong) {
      INFO(w.mistake);
      const GradcheckReport report = gradcheck(checked_op(op, &w), inputs_of(op, DType::Float32));
      CHECK_FALSE(static_cast<bool>(report));
      named += *w.looks != 0;
      rightly += *w.looks && report.inputs[w.input].mistake.name.find(w.looks) != std::string::npos;
    }
  }
  CHECK(rightly * 100 >= named * 90);
}

TEST_CASE("a plain sum as the loss decides nothing about softmax", "[faults]") {
  const WrongOp& op = named("softmax");
  for (const WrongGradient& w : op.wrong) {
    if (std::string_view(w.mistake) != "y forgotten") continue;
    auto wrong = checked_op(op, &w);
    auto summed = [&](const Vars& x) { return sum(wrong(x)[0]); };
    // Each row of a softmax sums to 1 whatever x is: dx = 0, and the wrong one gives 1 - Σ y = 0.
    CHECK(gradcheck(summed, inputs_of(op)).undecided());
    CHECK(gradcheck(summed, inputs_of(op), {.mode = Mode::Projection}).undecided());
    CHECK_FALSE(static_cast<bool>(gradcheck(wrong, inputs_of(op))));
  }
}

TEST_CASE("the number of derivatives that say so is beside the name", "[faults]") {
  const WrongOp& op = named("cube");
  GradcheckReport report = gradcheck(checked_op(op, &op.wrong[0]), inputs_of(op));
  INFO(report);
  CHECK(report.to_string().find("looks like a constant factor: 1/3 times the derivative "
                                "(5 derivatives say so)") != std::string::npos);
  // Two elements fit many a name.
  auto two = gradcheck(checked_op(op, &op.wrong[0]), {tensor({0.5, 1.5}, DType::Float64)});
  CHECK(two.to_string().find("may be a constant factor") != std::string::npos);
  // A factor for each element fits anything.
  auto one = gradcheck(checked_op(op, &op.wrong[0]), {tensor({0.5}, DType::Float64)});
  CHECK_FALSE(static_cast<bool>(one));
  CHECK(one.inputs[0].mistake.name.empty());
  // Projections hide the Jacobian; where it is small, a failure is worth computing it.
  report = gradcheck(checked_op(op, &op.wrong[0]), inputs_of(op), {.mode = Mode::Projection});
  CHECK(report.inputs[0].mistake.name == "a constant factor: 1/3 times the derivative");
}

TEST_CASE("a wrong op too large for its Jacobian is found by a projection", "[faults]") {
  const WrongOp& op = named("cube");
  const Tensor x = uniform({300}, 0.3, 2, {3, 4}, DType::Float64);
  GradcheckReport report = gradcheck(checked_op(op, &op.wrong[0]), {x}, {.mode = Mode::Projection});
  INFO(report);
  CHECK(report.failed() > 0);
  CHECK(report.inputs[0].mistake.name.empty());
}

TEST_CASE("a saved value that goes stale is caught", "[faults]") {
  // One buffer for all calls, as a layer that keeps its last input would have.
  auto buffer = std::make_shared<Tensor>();
  Forward keep = [buffer](const Vars& x) {
    *buffer = x[0].value();
    return x[0] * x[0];
  };
  Rule stale = [buffer](const At& a) { return Vars{2 * a.dy * Var(*buffer)}; };
  auto once = [&](const Vars& x) { return planted(keep, stale, {x[0]}); };
  GradcheckReport report = gradcheck(once, {tensor({0.5, 1}, DType::Float64)});
  INFO(report);
  CHECK(report.to_string().find("a saved value gone stale") != std::string::npos);
  Rule saved = [](const At& a) { return Vars{2 * a.dy * a.x[0]}; };
  auto right = [&](const Vars& x) { return planted(keep, saved, {x[0]}); };
  CHECK(decided(gradcheck(right, {tensor({0.5, 1}, DType::Float64)})));
}

TEST_CASE("a detached path is caught", "[faults]") {
  auto f = [](const Vars& x) { return mul(x[0], tanh(x[0].detach())); };
  auto whole = [](const Vars& x) { return tanh(x[0].detach()); };
  Tensor x = tensor({0.5, -1}, DType::Float64);
  CHECK_FALSE(static_cast<bool>(gradcheck(f, {x})));
  GradcheckReport report = gradcheck(whole, {{"x", x}});
  REQUIRE_FALSE(static_cast<bool>(report));
  CHECK(report.worst()->analytic == 0);
}

TEST_CASE("a backward that cannot be differentiated is caught by the second order alone",
          "[faults]") {
  // The first derivative is right; as a function of x it is a constant.
  Forward cube = [](const Vars& x) { return x[0] * x[0] * x[0]; };
  Rule frozen = [](const At& a) { return Vars{3 * a.dy * (a.x[0] * a.x[0]).detach()}; };
  auto f = [&](const Vars& x) { return planted(cube, frozen, x); };
  Tensor x = tensor({0.5, -1}, DType::Float64);
  CHECK(decided(gradcheck(f, {x})));
  GradcheckReport report = gradcheck(f, {{"x", x}}, {.second_order = true});
  REQUIRE_FALSE(static_cast<bool>(report));
  CHECK(report.worst()->name == "x");
  CHECK(report.to_string().find("gradient of the gradient") != std::string::npos);
}

TEST_CASE("a gradient of the wrong shape or dtype is an error that names the op", "[faults]") {
  Forward product = [](const Vars& x) { return matmul(x[0], x[1]); };
  Rule swapped = [](const At& at) {
    return Vars{matmul(at.dy, transpose(at.x[1])), transpose(matmul(transpose(at.x[0]), at.dy))};
  };
  Tensor a = ones({2, 3}, DType::Float64), b = ones({3, 4}, DType::Float64);
  auto problem = [](const Forward& f, const Rule& wrong,
                    const std::vector<GradcheckInput>& inputs) {
    try {
      gradcheck([&](const Vars& x) { return planted(f, wrong, x); }, inputs);
    } catch (const Error& e) {
      CHECK(e.op() == "planted");
      return e.problem();
    }
    return std::string();
  };
  std::string text = problem(product, swapped, {a, b});
  INFO(text);
  CHECK(text.find("(4, 3)") != std::string::npos);
  CHECK(text.find("input 1") != std::string::npos);
  CHECK_THROWS_AS(gradcheck([&](const Vars& x) { return planted(product, swapped, x); }, {a, b}),
                  ShapeError);
  Rule rounded = [](const At& at) { return Vars{Var(at.dy.value().to(DType::Float32))}; };
  std::string other = problem([](const Vars& x) { return x[0]; }, rounded, {a});
  INFO(other);
  CHECK(other.find("float32") != std::string::npos);
  CHECK(other.find("float64") != std::string::npos);
}

}  // namespace test_planted_faults
