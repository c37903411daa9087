// The checker on functions that are right: every kind of input, kinks, several outputs, parameters,
// and what is wrong apart from derivatives. Wrong derivatives are in planted_faults.cpp.
#include "autograd/gradcheck/gradcheck.hpp"

#include <cmath>
#include <sstream>

#include "autograd/gradcheck/catch.hpp"
#include "autograd/ops.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"

namespace test_gradcheck {

using namespace glim;
using Mode = GradcheckOptions::Mode;
using Vars = std::vector<Var>;

namespace {

Tensor random(const Shape& shape, std::uint64_t stream, DType dtype = DType::Float64) {
  return uniform(shape, -2, 2, {11, stream}, dtype);
}

// y = x², with backward times `factor`.
struct Squared final : Unary<Squared> {
  static constexpr Formula formula{"planted.squared", "y = x²", {"dx = 2 x dy"}};
  explicit Squared(double f) : factor(f) {}
  Tensor forward(const Tensor& x) {
    save(X);
    return mul(x, x);
  }
  Var dx(const Var& dy) const { return factor * (dy * x()); }
  double factor;
};
Var squared(const Var& x, double factor = 2) { return apply(Squared(factor), x); }

}  // namespace

TEST_CASE("gradcheck passes what is right", "[gradcheck]") {
  for (auto mode : {Mode::Full, Mode::Projection})
    for (bool second : {false, true}) {
      auto report = gradcheck([](const Vars& x) { return tanh(matmul(x[0], x[1])); },
                              {{"a", random({2, 3}, 1)}, {"b", random({3, 4}, 2)}},
                              {.mode = mode, .second_order = second});
      CHECK_THAT(report, PassesGradcheck(0));
      CHECK(report.inputs.size() == (second ? 3u : 2u));
      CHECK(report.worst()->absolute < 1e-7);
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
    CHECK(report.deterministic);
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
      CHECK(e.absolute == Approx(std::abs(0.5 * at)));
      CHECK(e.relative == Approx(0.2));
      CHECK(e.failed == 2);  // the element of the Jacobian, and the random combination
    }
    std::ostringstream out;
    out << report;
    std::string text = out.str();
    INFO(text);
    for (const char* part :
         {"gradcheck of my layer: FAILED", "input 1 weight (2, 3) float64", "worst at weight[1, 2]",
          "analytic", "numeric", "absolute", "relative", "times what is allowed"})
      CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("input 0 shift (2, 3) float64: ") != std::string::npos);
    CHECK_FALSE(PassesGradcheck().match(report));
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

TEST_CASE("kinks are counted, not failed", "[gradcheck]") {
  Tensor x = tensor({-1, 0, 0.5, 0, 2}, DType::Float64);
  struct {
    const char* name;
    std::function<Var(const Var&)> f;
    Index kinks;
  } functions[] = {
      {"relu", [](const Var& v) { return relu(v); }, 2},
      {"abs", [](const Var& v) { return abs(v); }, 2},  // agrees by symmetry, and is a kink
      {"clamp", [](const Var& v) { return clamp(v, -1, 2); }, 2},
      {"maximum", [](const Var& v) { return maximum(v, Var(zeros({5}, DType::Float64))); }, 2},
      // 0 is the largest of nothing but the first two, which tie with no other
      {"max", [](const Var& v) { return max(mul(v, v), {0}); }, 0},
      // a jump, at 0.5
      {"mask edge", [](const Var& v) { return where(greater(v.value(), 0.5), add(v, 1), v); }, 1},
  };
  for (auto& [name, f, kinks] : functions) {
    auto report = gradcheck([&f = f](const Vars& v) { return f(v[0]); }, {x}, {.name = name});
    INFO(report);
    CHECK(static_cast<bool>(report));
    CHECK(report.undecidable() == kinks);
    CHECK(PassesGradcheck(kinks).match(report));
    if (kinks) {
      CHECK_FALSE(PassesGradcheck(kinks - 1).match(report));
      CHECK(report.to_string().find("undecidable") != std::string::npos);
    }
  }
  // A tie: the larger of two equal elements.
  auto tie =
      gradcheck([](const Vars& v) { return max(v[0], {0}); }, {tensor({1, 1, 0}, DType::Float64)});
  CHECK(static_cast<bool>(tie));
  CHECK(tie.undecidable() == 2);
  // One kink makes a projection undecidable.
  auto whole = gradcheck([](const Vars& v) { return relu(v[0]); }, {x}, {.mode = Mode::Projection});
  CHECK(static_cast<bool>(whole));
  CHECK(whole.undecidable() == 1);
}

TEST_CASE("a kink beside the point falls outside when the step is refined", "[gradcheck]") {
  for (double beside : {1e-7, 1e-6, 3e-6, 6e-6, -1e-7, -1e-6, -3e-6}) {
    auto report =
        gradcheck([](const Vars& v) { return relu(v[0]); }, {tensor({beside, 1}, DType::Float64)});
    INFO(report);
    CHECK(static_cast<bool>(report));
    CHECK(report.undecidable() == 0);
  }
}

TEST_CASE("a kink does not excuse a wrong derivative", "[gradcheck]") {
  // Wrong away from the kink, and wrong at it by more than the kink explains.
  auto f = [](const Vars& v) { return add(relu(v[0]), squared(v[0], 40)); };
  auto report = gradcheck(f, {tensor({0, 1}, DType::Float64)});
  CHECK(report.failed() == 2);  // the element 1 and its random combination
  CHECK(report.undecidable() == 1);
  auto steep = [](const Vars& v) { return add(abs(v[0]), squared(add(v[0], 1), 9)); };
  CHECK(gradcheck(steep, {tensor({0}, DType::Float64)}).failed() == 2);
  // Strong curvature is not a kink.
  auto curved = [](const Vars& v) { return mul(squared(v[0], 2.001), 1e4); };
  auto curved_report = gradcheck(curved, {tensor({0.3}, DType::Float64)});
  CHECK(curved_report.undecidable() == 0);
  CHECK(curved_report.failed() > 0);
  // Nor is rounding: f is large, and wrong; or small, after large numbers cancelled, and wrong.
  auto cancelled = [](const Vars& v) {
    return add(add(add(mul(v[0], 0.0), 1e6), -1e6), squared(mul(v[0], 0.0), 3)) + squared(v[0], 3);
  };
  auto cancelled_report = gradcheck(cancelled, {tensor({0.5}, DType::Float64)});
  CHECK(cancelled_report.undecidable() == 0);
  CHECK(cancelled_report.failed() > 0);
  auto rounded = [](const Vars& v) { return add(squared(v[0], 2.001), 1e5); };
  auto rounded_report = gradcheck(rounded, {tensor({0.5}, DType::Float64)});
  CHECK(rounded_report.undecidable() == 0);
  CHECK(rounded_report.failed() > 0);
}

TEST_CASE("inputs may be views of any kind", "[gradcheck]") {
  Tensor base = random({4, 6}, 5);
  Tensor windows = Tensor::from_storage(base.storage(), 0, {5, 4}, {2, 1}, DType::Float64);
  struct {
    const char* name;
    Tensor x;
  } views[] = {
      {"transposed", base.transpose()},
      {"every second", base.slice(1, 1, 6, 2)},
      {"with an offset", base.narrow(0, 1, 2)},
      {"expanded along rows", base.narrow(0, 2, 1).expand({4, 6})},
      {"expanded along columns", base.narrow(1, 2, 1).expand({4, 6})},
      {"one element expanded", base.select(0, 0).narrow(0, 3, 1).expand({3, 2})},
      {"overlapping windows", windows},
      {"no elements", base.narrow(0, 1, 0)},
  };
  for (auto& [name, x] : views)
    for (auto mode : {Mode::Full, Mode::Projection})
      for (bool second : {false, true}) {
        auto report =
            gradcheck([](const Vars& v) { return sum(mul(tanh(v[0]), exp(mul(v[0], 0.5))), {1}); },
                      {x}, {.name = name, .mode = mode, .second_order = second});
        CHECK_THAT(report, PassesGradcheck(0));
        if (mode == Mode::Full && !second) {
          CHECK(report.checked() == x.numel() * (x.size(0) + 1));
          CHECK(report.inputs[0].shape == x.shape());
        }
      }
}

TEST_CASE("inputs that share storage are variables of their own", "[gradcheck]") {
  Tensor x = random({3, 3}, 6);
  auto product = [](const Vars& v) { return matmul(v[0], v[1]); };
  CHECK_THAT(gradcheck(product, {x, x}), PassesGradcheck(0));
  CHECK_THAT(gradcheck(product, {x, x.transpose()}), PassesGradcheck(0));
  Tensor before = x.clone();
  CHECK_THAT(gradcheck(product, {x.select(0, 1).expand({3, 3}), x}), PassesGradcheck(0));
  CHECK(same_bits(x, before));
}

TEST_CASE("inputs of integers and truth values are passed on", "[gradcheck]") {
  Tensor index = from_vector<std::int64_t>({2, 0, 1, 2}, {4});
  Tensor keep = from_vector<bool>({true, false, true, true}, {4});
  auto f = [](const Vars& v) {
    Var rows = index_select(v[0], 0, v[1].value());
    return where(v[2].value(), sum(mul(rows, rows), {1}), Var(scalar(0, rows.dtype())));
  };
  auto report = gradcheck(f, {random({3, 2}, 1), index, keep});
  CHECK_THAT(report, PassesGradcheck(0));
  CHECK(report.inputs.size() == 1);
  CHECK_THROWS_AS(gradcheck([](const Vars& v) { return v[0]; }, {index}), ValueError);
  // A floating input that is not to be checked.
  auto fixed = gradcheck([](const Vars& v) { return mul(v[0], v[1]); },
                         {random({3}, 1), GradcheckInput::constant(random({3}, 2))});
  CHECK_THAT(fixed, PassesGradcheck(0));
  CHECK(fixed.inputs.size() == 1);
}

TEST_CASE("several outputs, some of integers, some that depend on nothing", "[gradcheck]") {
  auto f = [](const Vars& v) {
    OrderedVar o = top_k(v[0], 2);
    return Vars{exp(v[0]), o.values, Var(o.indices), mul(v[1], 3.0), Var(ones({2}, v[0].dtype())),
                v[1]};
  };
  for (auto mode : {Mode::Full, Mode::Projection})
    for (bool second : {false, true}) {
      auto report =
          gradcheck(f, {random({5}, 1), random({2, 2}, 2)}, {.mode = mode, .second_order = second});
      CHECK_THAT(report, PassesGradcheck(0));
      if (second) CHECK(report.inputs.back().name == "dy4");
    }
  // The error lies in the second output.
  auto report = gradcheck(
      [](const Vars& v) {
        return Vars{exp(v[0]), squared(v[0], 3)};
      },
      {random({2}, 1)});
  REQUIRE_FALSE(report);
  CHECK(report.worst()->output == 1);
}

TEST_CASE("float32 is compared with differences in float64 where the function allows",
          "[gradcheck]") {
  Tensor x = random({3, 4}, 1, DType::Float32), w = random({4, 2}, 2, DType::Float32);
  auto generic = [](const Vars& v) { return sigmoid(matmul(v[0], v[1])); };
  auto report = gradcheck(generic, {x, w});
  CHECK_THAT(report, PassesGradcheck(0));
  CHECK(report.in_float64);
  CHECK(report.inputs[0].dtype == DType::Float32);
  CHECK(report.worst()->absolute < 1e-6);
  // A captured float32 constant forces differences in float32.
  Tensor fixed = ones({2}, DType::Float32);
  auto bound = [&](const Vars& v) { return mul(sigmoid(matmul(v[0], v[1])), Var(fixed)); };
  report = gradcheck(bound, {x, w});
  CHECK_THAT(report, PassesGradcheck(0));
  CHECK_FALSE(report.in_float64);
  CHECK(report.to_string().find("differences in float32") != std::string::npos);
  CHECK_THAT(gradcheck(generic, {x, w}, {.differences = GradcheckOptions::Differences::SameDType}),
             PassesGradcheck(0));
  for (auto side :
       {GradcheckOptions::Differences::Float64, GradcheckOptions::Differences::SameDType}) {
    CHECK_FALSE(
        gradcheck([](const Vars& v) { return squared(v[0], 2.2); }, {x}, {.differences = side}));
    auto kinked = gradcheck([](const Vars& v) { return relu(v[0]); },
                            {tensor({0, 1, -1}, DType::Float32)}, {.differences = side});
    CHECK(static_cast<bool>(kinked));
    CHECK(kinked.undecidable() == 1);
  }
  // Both dtypes at once.
  auto mixed = [](const Vars& v) { return Vars{exp(v[0]), sin(v[1])}; };
  CHECK_THAT(gradcheck(mixed, {x, random({2}, 3)}), PassesGradcheck(0));
}

TEST_CASE("what is not deterministic is reported as such", "[gradcheck]") {
  int calls = 0;
  auto report = gradcheck([&](const Vars& v) { return mul(v[0], ++calls); }, {random({2}, 1)},
                          {.name = "counter"});
  CHECK_FALSE(report);
  CHECK_FALSE(report.deterministic);
  CHECK(report.to_string().find("counter: FAILED: the function is not deterministic") !=
        std::string::npos);
  // Random numbers of the generator are the same for each evaluation, and go on after it.
  seed(5);
  auto stream = generator().stream();
  auto dropped =
      gradcheck([](const Vars& v) { return dropout(exp(v[0]), 0.5, generator().next()); },
                {random({4, 4}, 1)});
  CHECK_THAT(dropped, PassesGradcheck(0));
  CHECK(generator().stream() == stream);
}

TEST_CASE("a function that takes another course on views, or writes to its input, fails",
          "[gradcheck]") {
  Tensor x = random({3, 3}, 1).transpose();
  auto ignores_strides = [](const Vars& v) {
    Tensor first = v[0].value();
    // Reads the storage row by row, whatever the strides say.
    double second = first.data<double>()[1];
    return mul(v[0], second);
  };
  auto expanded = gradcheck(ignores_strides, {random({3, 1}, 1).expand({3, 3})});
  CHECK_FALSE(expanded);
  CHECK(expanded.problem.find("another value on the inputs as given") != std::string::npos);
  auto writes = [](const Vars& v) {
    v[0].value().fill_(1);
    return exp(v[0]);
  };
  auto report = gradcheck(writes, {{"victim", x.clone()}});
  CHECK_FALSE(report);
  CHECK(report.problem == "writes to its input victim");
}

TEST_CASE("derivatives with regard to named parameters", "[gradcheck]") {
  Var w = Var::leaf(random({4, 3}, 1), "w"), b = Var::leaf(random({3}, 2), "b"),
      frozen = Var::leaf(random({3}, 3), "frozen");
  frozen.leaf().trainable = false;
  Var x(random({5, 4}, 4));
  auto layer = [&] { return mul(tanh(add(matmul(x, w), b)), frozen); };
  NamedParameters names{
      {"linear.weight", w}, {"linear.bias", b}, {"tied.bias", b}, {"gain", frozen}};
  Tensor before = w.value();
  for (auto mode : {Mode::Full, Mode::Projection})
    for (bool second : {false, true}) {
      auto report = gradcheck(layer, names, {.mode = mode, .second_order = second});
      CHECK_THAT(report, PassesGradcheck(0));
      CHECK(report.inputs[0].name == "linear.weight");
      CHECK(report.inputs[1].name == "linear.bias = tied.bias");
      CHECK(report.inputs.size() == (second ? 3u : 2u));
    }
  CHECK(w.value().storage() == before.storage());
  CHECK_FALSE(w.grad().defined());
  auto wrong = gradcheck([&] { return squared(add(matmul(x, w), b), 2.1); }, names);
  CHECK_FALSE(wrong);
  // An exception puts the values back.
  int calls = 0;
  CHECK_THROWS_AS(gradcheck(
                      [&]() -> Var {
                        if (++calls == 7) throw ValueError("test", "on purpose");
                        return layer();
                      },
                      names),
                  ValueError);
  CHECK(w.value().storage() == before.storage());
  CHECK(Tape::open() == nullptr);
}

TEST_CASE("a check leaves an open tape alone", "[gradcheck]") {
  Var w = Var::leaf(random({2, 2}, 1), "w");
  Tape tape;
  Var y = exp(w);
  auto size = tape.nodes().size();
  CHECK_THAT(gradcheck([](const Vars& v) { return sin(v[0]); }, {random({3}, 1)}),
             PassesGradcheck(0));
  CHECK_THAT(gradcheck([&] { return sin(w); }, NamedParameters{{"w", w}}), PassesGradcheck(0));
  CHECK(tape.nodes().size() == size);
  tape.backward(sum(y));
  CHECK(same_bits(w.grad(), y.value()));
}

TEST_CASE("options out of range are errors", "[gradcheck]") {
  auto f = [](const Vars& v) { return v[0]; };
  Tensor x = random({2}, 1);
  CHECK_THROWS_AS(gradcheck(f, {x}, {.atol = -1}), ValueError);
  CHECK_THROWS_AS(gradcheck(f, {x}, {.step = -1}), ValueError);
  CHECK_THROWS_AS(gradcheck(f, {x}, {.directions = 0}), ValueError);
  Tensor large = zeros({5000}, DType::Float64);
  CHECK_THROWS_AS(gradcheck(f, {large}), ValueError);
  CHECK_THAT(gradcheck(f, {large}, {.mode = Mode::Projection, .directions = 3}),
             PassesGradcheck(0));
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

}  // namespace test_gradcheck
