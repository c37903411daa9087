// The checker itself: modes, reports, precision, options. Wrong derivatives are in planted_faults.cpp.
#include <cmath>
#include <sstream>

#include "tests/autograd/gradcheck/common.hpp"

namespace test_gradcheck {

using namespace glim;
using namespace glim::wrongs;

TEST_CASE("gradcheck passes what is right", "[gradcheck]") {
  for (auto mode : {Mode::Full, Mode::Projection})
    for (bool second : {false, true}) {
      auto report = gradcheck([](const Vars& x) { return tanh(matmul(x[0], x[1])); },
                              {{"a", random({2, 3}, 1)}, {"b", random({3, 4}, 2)}},
                              {.mode = mode, .second_order = second});
      CHECK(decided(report));
      CHECK(report.inputs.size() == (second ? 3u : 2u));
      CHECK(report.worst()->absolute() < 1e-7);
      CHECK(report.worst()->excess < 1);
    }
}

TEST_CASE("the full mode compares every element of the Jacobian, and a random combination",
          "[gradcheck]") {
  auto report = gradcheck([](const Vars& x) { return mul(x[0], x[1]); },
                          {random({2, 3}, 1), random({2, 3}, 2)});
  CHECK(report.checked() == 2 * (6 * 6 + 6));
  CHECK(gradcheck([](const Vars& x) { return mul(x[0], x[1]); },
                  {random({2, 3}, 1), random({2, 3}, 2)}, {.mode = Mode::Projection})
            .checked() == 2);
}

TEST_CASE("a report names function, input, element, both values and the error", "[gradcheck]") {
  Tensor x = random({2, 3}, 1);
  auto wrong_at = [](const Vars& v) {  // the derivative of element [1, 2] is 2.5 x, not 2 x
    Var right = squared(slice(reshape(v[1], {6}), 0, 0, 5)),
        wrong = squared(slice(reshape(v[1], {6}), 0, 5, 6), 2.5);
    return add(concatenate({right, wrong}, 0), reshape(v[0], {6}));
  };
  for (auto mode : {Mode::Full, Mode::Projection}) {
    auto report = gradcheck(wrong_at, {{"shift", random({2, 3}, 2)}, {"weight", x}},
                            {.name = "my layer", .mode = mode});
    REQUIRE_FALSE(report);
    CHECK(report.problem.empty());
    CHECK(report.inputs[0].failed == 0);
    const GradcheckEntry& e = *report.worst();
    CHECK(e.input == 1);
    CHECK(e.name == "weight");
    CHECK(e.index == Shape{1, 2});
    CHECK(e.projected == (mode == Mode::Projection));
    if (mode == Mode::Full) {
      double at = x.at<double>({1, 2});
      CHECK(e.output_index == Shape{5});
      CHECK(e.analytic == Approx(2.5 * at));
      CHECK(e.numeric == Approx(2 * at));
      CHECK(e.absolute() == Approx(std::abs(0.5 * at)));
      CHECK(e.failed == 2);  // the element of the Jacobian, and the random combination
    }
    std::ostringstream out;
    out << report;
    std::string text = out.str();
    INFO(text);
    for (const char* part :
         {"gradcheck of my layer: FAILED", "input 1 weight (2, 3) float64", "worst at weight[1, 2]",
          "analytic", "numeric", "error", "times what is allowed"})
      CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("input 0 shift (2, 3) float64: ") != std::string::npos);
    CHECK_FALSE(report);
  }
}

TEST_CASE("NaN and infinite derivatives fail", "[gradcheck]") {
  Tensor negative = tensor({-1, 2}, DType::Float64);
  CHECK_FALSE(gradcheck([](const Vars& x) { return log(x[0]); }, {negative}));
  CHECK_FALSE(
      gradcheck([](const Vars& x) { return log(x[0]); }, {negative}, {.mode = Mode::Projection}));
  // The value is right, the derivative is NaN: 0 · ∞.
  auto nan = [](const Vars& x) { return mul(sqrt(mul(x[0], 0.0)), 1.0); };
  CHECK_FALSE(gradcheck(nan, {negative}));
}

TEST_CASE("float32 is compared with differences in float64 where the function allows",
          "[gradcheck]") {
  Tensor x = random({3, 4}, 1, DType::Float32), w = random({4, 2}, 2, DType::Float32);
  auto generic = [](const Vars& v) { return sigmoid(matmul(v[0], v[1])); };
  auto report = gradcheck(generic, {x, w});
  CHECK(decided(report));
  CHECK(report.in_float64);
  CHECK(report.inputs[0].dtype == DType::Float32);
  CHECK(report.worst()->absolute() < 1e-6);
  // A captured float32 constant forces differences in float32.
  Tensor fixed = ones({2}, DType::Float32);
  auto bound = [&](const Vars& v) { return mul(sigmoid(matmul(v[0], v[1])), Var(fixed)); };
  report = gradcheck(bound, {x, w});
  CHECK(decided(report));
  CHECK_FALSE(report.in_float64);
  CHECK(report.to_string().find("differences in float32") != std::string::npos);
  const Var one(ones({}, DType::Float32));
  for (bool in_float64 : {true, false}) {
    auto in = [&](const Var& y) { return in_float64 ? y : y * one; };
    CHECK_FALSE(gradcheck([&](const Vars& v) { return in(squared(v[0], 2.2)); }, {x}));
    auto kinked = gradcheck([&](const Vars& v) { return in(relu(v[0])); },
                            {tensor({0, 1, -1}, DType::Float32)});
    CHECK(static_cast<bool>(kinked));
    CHECK(kinked.in_float64 == in_float64);
    CHECK(kinked.undecidable() == 1);
  }
  // Both dtypes at once.
  auto mixed = [](const Vars& v) { return Vars{exp(v[0]), sin(v[1])}; };
  CHECK(decided(gradcheck(mixed, {x, random({2}, 3)})));
}

TEST_CASE("what is not deterministic is reported as such", "[gradcheck]") {
  int calls = 0;
  auto report = gradcheck([&](const Vars& v) { return mul(v[0], ++calls); }, {random({2}, 1)},
                          {.name = "counter"});
  CHECK_FALSE(report);
  CHECK(report.to_string().find("counter: FAILED: the function is not deterministic") !=
        std::string::npos);
  // Random numbers of the generator are the same for each evaluation, and go on after it.
  seed(5);
  auto stream = generator().stream();
  auto dropped =
      gradcheck([](const Vars& v) { return dropout(exp(v[0]), 0.5, generator().next()); },
                {random({4, 4}, 1)});
  CHECK(decided(dropped));
  CHECK(generator().stream() == stream);
}

TEST_CASE("a check leaves an open tape alone", "[gradcheck]") {
  Var w = Var::leaf(random({2, 2}, 1), "w");
  Tape tape;
  Var y = exp(w);
  auto size = tape.nodes().size();
  CHECK(decided(gradcheck([](const Vars& v) { return sin(v[0]); }, {random({3}, 1)})));
  CHECK(decided(gradcheck([&] { return sin(w); }, NamedParameters{{"w", w}})));
  CHECK(tape.nodes().size() == size);
  tape.backward(sum(y));
  CHECK(same_bits(w.grad(), y.value()));
}

TEST_CASE("a function that differentiates within is evaluated on a tape", "[gradcheck]") {
  // 3x² as the derivative of x³. At the point itself the second function has no backward.
  auto slope = [](const Var& x) {
    Tape* tape = Tape::current();
    if (!tape) throw StateError("slope", "no tape records");
    return tape->grad(sum(x * x * x), {x}, {}, {.create_graph = true})[0];
  };
  const Tensor at = random({6}, 1);
  auto elsewhere = [&](const Vars& v) {
    const Var x = dropout(v[0], 0.5, generator().next());  // the same each time
    return same_bits(v[0].value(), at) ? 3 * x * x : slope(x);
  };
  CHECK(decided(gradcheck([&](const Vars& v) { return slope(v[0]); }, {at})));
  CHECK(decided(gradcheck(elsewhere, {at})));
}

TEST_CASE("options out of range are errors", "[gradcheck]") {
  auto f = [](const Vars& v) { return v[0]; };
  Tensor x = random({2}, 1);
  CHECK_THROWS_AS(gradcheck(f, {x}, {.atol = -1}), ValueError);
  CHECK_THROWS_AS(gradcheck(CheckedFunction(), {x}), ValueError);
  CHECK_THROWS_AS(gradcheck(CheckedClosure(), NamedParameters()), ValueError);
  CHECK_THROWS_AS(gradcheck(f, {x}, {.directions = 0}), ValueError);
  Tensor large = zeros({5000}, DType::Float64);
  CHECK_THROWS_AS(gradcheck(f, {large}), ValueError);
  CHECK(decided(gradcheck(f, {large}, {.mode = Mode::Projection, .directions = 3})));
}

TEST_CASE("a projection finds the one wrong element of many", "[gradcheck]") {
  Tensor x = random({1000}, 1);
  auto f = [](const Vars& v) {
    Var a = squared(narrow(v[0], 0, 0, 617)), b = squared(narrow(v[0], 0, 617, 1), 2.3),
        c = squared(narrow(v[0], 0, 618, 382));
    return concatenate({a, b, c}, 0);
  };
  auto report = gradcheck(f, {x}, {.mode = Mode::Projection});
  REQUIRE_FALSE(report);
  CHECK(report.worst()->index == Shape{617});
}

TEST_CASE("a precise check sees the tenth digit", "[gradcheck]") {
  Tensor x = tensor({0.3, -0.7, 1.9}, DType::Float64);
  auto off_by = [&](double factor) {
    // tanh with a gradient that is wrong by the factor
    return [=](const Vars& v) {
      Var y = tanh(v[0]);
      return add(mul(y, factor), mul(y.detach(), 1 - factor));
    };
  };
  GradcheckOptions precise{.precise = true};
  for (double error : {1e-6, 1e-8, 1e-9}) {
    CHECK(gradcheck(off_by(1 + error), {x}));
    CHECK_FALSE(gradcheck(off_by(1 + error), {x}, precise));
  }
  auto right = gradcheck(off_by(1), {x}, precise);
  INFO(right);
  CHECK(right);
  CHECK(right.low_precision() == 0);
  CHECK(right.worst()->absolute() < 1e-12);
  // Each gradcheck of the thread is as precise, with the gradient of the gradient and a projection.
  struct AllPrecise {
    AllPrecise() { GradcheckOptions::all_precise = true; }
    ~AllPrecise() { GradcheckOptions::all_precise = false; }
  } all;
  CHECK_FALSE(gradcheck(off_by(1 + 1e-9), {x}, {.mode = Mode::Projection, .rtol = 0.1}));
  CHECK(gradcheck([](const Vars& v) { return exp(v[0]); }, {x}, {.second_order = true}));
  CHECK_FALSE(
      gradcheck([](const Vars& v) { return exp(v[0]); }, {x.to(DType::Float32)}).options.precise);
  CHECK_THROWS_AS(
      gradcheck([](const Vars& v) { return exp(v[0]); }, {x.to(DType::Float32)}, precise),
      ValueError);
}

TEST_CASE("a precise check near a kink is of low precision, and at one undecidable",
          "[gradcheck]") {
  GradcheckOptions precise{.precise = true};
  auto check = [&](double at) {
    return gradcheck([](const Vars& v) { return abs(v[0]) * exp(v[0]) + 1; },
                     {tensor({at}, DType::Float64)}, precise);
  };
  CHECK(check(0).undecidable() == 1);
  CHECK(check(1e-7).low_precision() == 1);
  CHECK(check(1e-7).inputs[0].why_low_precision == "rounding of values of 1");
  for (double at : {1e-5, 1e-3, 1e-2, 1.0})
    CHECK(check(at).low_precision() + check(at).undecidable() == 0);
}

TEST_CASE("a precise check says that rounding leaves too little", "[gradcheck]") {
  const GradcheckReport report =
      gradcheck([](const Vars& v) { return add(sin(mul(v[0], 50.0)), 1e5); },
                {tensor({0.0}, DType::Float64)}, {.precise = true});
  INFO(report);
  CHECK(report);
  CHECK(report.inputs[0].why_low_precision == "rounding of values of 1e+05");
}

TEST_CASE("a precise check takes a coarser step where rounding is the larger error",
          "[gradcheck]") {
  GradcheckOptions precise{.precise = true};
  auto undecided_digits = [&](const CheckedFunction& f, std::initializer_list<double> at) {
    const GradcheckReport report = gradcheck(f, {tensor(at, DType::Float64)}, precise);
    INFO(report);
    CHECK(report);
    return report.low_precision() + report.undecidable();
  };
  // Derivatives of 0 beside large values: no step changes them.
  CHECK(undecided_digits([](const Vars& v) { return mul(mul(v[0], v[0]), 1e4); }, {1.5, 2.5, -3}) ==
        0);
  // Linear, of a derivative that is small beside the value.
  CHECK(undecided_digits([](const Vars& v) { return add(mul(v[0], 0.01), 500); }, {0.3}) == 0);
}

// (x + 300)² - 300² - 600 x - x² + x/10 is x/10 but for rounding, by some 1e-11, of which its value shows nothing.
TEST_CASE("a step is coarser where values that cancel leave rounding", "[gradcheck]") {
  auto f = [](double factor) {
    return [factor](const Vars& v) {
      const Var &x = v[0], there = x + 300.0;
      return sum(there * there - 9e4 - 600.0 * x - squared(x, factor) + 0.1 * x);
    };
  };
  for (auto mode : {Mode::Full, Mode::Projection})
    for (std::uint64_t k = 0; k < 20; ++k) {
      const Tensor x = random({3}, k);
      const GradcheckReport report = gradcheck(f(2), {x}, {.mode = mode});
      INFO(report);
      CHECK(decided(report));
      CHECK_FALSE(gradcheck(f(2.001), {x}, {.mode = mode}));
    }
}

}  // namespace test_gradcheck
