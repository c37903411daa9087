// Undecided is not passed: functions that are hard for differences, each with its right gradient, with none, and with
// the negated one. No wrong gradient may pass and no right one may fail.
#include <cmath>
#include <cstdio>

#include "tests/autograd/gradcheck/common.hpp"

namespace test_undecided {

using namespace glim;
using namespace glim::wrongs;

namespace {

struct Hard {
  const char* kind;
  std::string name;
  std::vector<double> at;
  std::function<Var(const Var&)> f;
};

std::string with(const char* text, double c) {
  char name[64];
  std::snprintf(name, sizeof name, "%s %g", text, c);
  return name;
}

std::vector<Hard> hard_functions() {
  std::vector<Hard> all;
  const std::vector<double> ones{0.3, -0.7, 1.1};
  auto scaled = [](std::vector<double> v, double by) {
    for (double& e : v) e *= by;
    return v;
  };
  auto add = [&](const char* kind, std::string name, std::vector<double> at,
                 std::function<Var(const Var&)> f) {
    all.push_back({kind, std::move(name), std::move(at), std::move(f)});
  };
  for (double k : {1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e12}) {
    add("fast", with("sin kx, k =", k), ones, [k](const Var& x) { return sin(k * x); });
    add("fast", with("x cos kx, k =", k), ones, [k](const Var& x) { return x * cos(k * x); });
    add("fast", with("tanh kx, k =", k), scaled(ones, 1 / k),
        [k](const Var& x) { return tanh(k * x); });
    add("fast", with("exp -(kx)², k =", k), scaled(ones, 1 / k),
        [k](const Var& x) { return exp(-(k * x) * (k * x)); });
    add("fast", with("sigmoid kx + x, k =", k), scaled(ones, 1 / k),
        [k](const Var& x) { return sigmoid(k * x) + x; });
    add("fast", with("softmax kx, k =", k), scaled(ones, 1 / k),
        [k](const Var& x) { return softmax(k * x); });
  }
  for (double e : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9, 1e-12, 1e-15}) {
    const std::vector<double> near{e, 1.5 * e, 2.3 * e};
    std::vector<double> below;
    for (double d : near) below.push_back(1 - d);
    add("boundary", with("log at", e), near, [](const Var& x) { return log(x); });
    add("boundary", with("sqrt at", e), near, [](const Var& x) { return sqrt(x); });
    add("boundary", with("1/x at", e), near, [](const Var& x) { return 1.0 / x; });
    add("boundary", with("x log x at", e), near, [](const Var& x) { return x * log(x); });
    add("boundary", with("log x + 1/sqrt x at", e), near,
        [](const Var& x) { return log(x) + 1.0 / sqrt(x); });
    if (e >= 1e-12)
      add("boundary", with("sqrt(1 - x²) at 1 -", e), below,
          [](const Var& x) { return sqrt(1 - x * x); });
    if (e >= 1e-12)
      add("boundary", with("log(1 - x) at 1 -", e), below, [](const Var& x) { return log(1 - x); });
  }
  for (double c : {1e2, 1e3, 1e4, 1e5, 1e6, 1e8, 1e10, 1e12, 1e15}) {
    const std::vector<double> far{c + 0.25, c - 0.5, c + 1};
    add("far", with("sin at", c), far, [](const Var& x) { return sin(x); });
    add("far", with("tanh(x - c) at", c), far, [c](const Var& x) { return tanh(x - c); });
    add("far", with("softmax at", c), far, [](const Var& x) { return softmax(x); });
    add("far", with("(x - c)² at", c), far, [c](const Var& x) { return (x - c) * (x - c); });
    add("far", with("log at", c), far, [](const Var& x) { return log(x); });
    add("far", with("x² at", c), far, [](const Var& x) { return x * x; });
  }
  for (double c : {10.0, 20.0, 40.0, 100.0, 700.0, 1e5}) {
    const std::vector<double> at{c, c + 0.5, c + 1};
    add("constant", with("tanh at", c), at, [](const Var& x) { return tanh(x); });
    add("constant", with("sigmoid at", c), at, [](const Var& x) { return sigmoid(x); });
    add("constant", with("exp(-x) at", c), at, [](const Var& x) { return exp(-x); });
    add("constant", with("softmax beside", c), ones, [c](const Var& x) {
      return softmax(concatenate({x, Var(full({1}, c, DType::Float64))}, 0));
    });
    add("constant", with("1 + exp(-x) at", c), at, [](const Var& x) { return 1 + exp(-x); });
  }
  for (double c : {1e4, 1e8, 1e12, 1e14, 1e15, 1e16, 1e17, 1e20}) {
    add("constant", with("x + c, c =", c), ones, [c](const Var& x) { return x + c; });
    add("constant", with("(x + c) - c, c =", c), ones, [c](const Var& x) { return (x + c) - c; });
    add("constant", with("sin(x)/c, c =", c), ones, [c](const Var& x) { return sin(x) / c; });
  }
  return all;
}

}  // namespace

TEST_CASE("two hundred hard functions: no wrong gradient passes, no right one fails",
          "[gradcheck][slow]") {
  const std::vector<Hard> functions = hard_functions();
  CHECK(functions.size() >= 200);
  const struct {
    const char* name;
    GradcheckOptions options;
  } modes[] = {{"full", {}},
               {"projected", {.mode = Mode::Projection}},
               {"precise", {.precise = true}},
               {"projected, precise", {.mode = Mode::Projection, .precise = true}}};
  for (const auto& [mode, options] : modes) {
    Index undecided[3] = {};
    for (const Hard& hard : functions) {
      const Tensor x = from_vector(hard.at, {std::ssize(hard.at)});
      auto right = [&](const Vars& v) { return hard.f(v[0]); };
      auto missing = [&](const Vars& v) { return hard.f(v[0]).detach() + 0.0 * sum(v[0]); };
      auto wrong_sign = [&](const Vars& v) {
        const Var y = hard.f(v[0]);
        return 2 * y.detach() - y;
      };
      const GradcheckReport reports[] = {gradcheck(right, {x}, options),
                                         gradcheck(missing, {x}, options),
                                         gradcheck(wrong_sign, {x}, options)};
      INFO(mode << ", " << hard.kind << ", " << hard.name);
      {
        INFO(reports[0]);
        CHECK((reports[0].passed() || reports[0].undecided()));
      }
      for (int wrong : {1, 2}) {
        INFO(reports[wrong]);
        CHECK_FALSE(reports[wrong].passed());
      }
      for (int k : {0, 1, 2}) undecided[k] += reports[k].undecided();
    }
    std::printf("%s: undecided of %zu right gradients %lld, missing %lld, negated %lld\n", mode,
                functions.size(), static_cast<long long>(undecided[0]),
                static_cast<long long>(undecided[1]), static_cast<long long>(undecided[2]));
    CHECK(undecided[0] <= std::ssize(functions) * 3 / 10);
  }
}

// Far from 0 a small step along a random direction is rounded, which f's own values do not show.
TEST_CASE("a right gradient far from 0 does not fail along a direction", "[gradcheck]") {
  for (double c : {1e4, 1e6, 1e8, 1e10})
    for (double k : {1e1, 1e3, 1e5, 1e6})
      for (std::uint64_t n = 0; n < 10; ++n) {
        const Tensor x = uniform({3}, -1, 1, {7, n}, DType::Float64) + c;
        const GradcheckReport report = gradcheck([&](const Vars& v) { return sin(k * (v[0] - c)); },
                                                 {x}, {.mode = Mode::Projection, .seed = n});
        INFO("sin " << k << " (x - " << c << "), " << report);
        CHECK(report.failed() == 0);
      }
}

TEST_CASE("an input without a derivative that tells makes the report undecided", "[gradcheck]") {
  // The derivatives by x0 are right, and say nothing about the missing gradient of x1.
  auto missing = [](const Vars& v) { return v[0] * v[0] + sin(1e12 * v[1]).detach() + 0.0 * v[1]; };
  for (auto mode : {Mode::Full, Mode::Projection}) {
    const GradcheckReport report =
        gradcheck(missing, {random({3}, 1), random({3}, 2)}, {.mode = mode});
    INFO(report);
    CHECK(report.failed() == 0);
    CHECK(report.undecided());
    CHECK_FALSE(report);
    CHECK(report.to_string().find("by x1 no derivative other than 0 was found right") !=
          std::string::npos);
  }
}

// A part of f in float32 or bfloat16 is a staircase: below its grain, differences see the rest alone.
TEST_CASE("a rounding plateau is no derivative of 0", "[gradcheck]") {
  auto float32 = [](const Tensor& x) { return x.to(DType::Float32).to(DType::Float64); };
  auto thousandths = [](const Tensor& x) {  // 8 bits, as bfloat16 has
    return (x + 0x1p45) - 0x1p45;
  };
  // w tanh x, of a rounded x, with `share` of the gradient of x.
  auto f = [](auto round, double share) {
    return [=](const Vars& v) {
      const Var y = tanh(Var(round(v[1].value()))), none = v[1] - v[1].detach();
      return v[0] * (y + share * (1.0 - y * y) * none);
    };
  };
  const std::vector<GradcheckInput> at{random({2, 3}, 1), random({2, 3}, 2)};
  for (auto mode : {Mode::Full, Mode::Projection})
    for (bool precise : {false, true}) {
      const GradcheckOptions options{.mode = mode, .precise = precise, .may_round = true};
      INFO("precise " << precise);
      const GradcheckReport right = gradcheck(f(float32, 1), at, options);
      CHECK(right.failed() == 0);
      if (mode == Mode::Full) CHECK(right);
      for (double share : {0.0, -1.0, 1.1})
        CHECK(gradcheck(f(float32, share), at, options).failed());
      const GradcheckReport coarse = gradcheck(f(thousandths, 1), at, options);
      INFO(coarse);
      CHECK(coarse.undecided());
      CHECK(contains(coarse.inputs[1].why_undecidable, "f rounds to about"));
      CHECK(coarse.inputs[1].rounds);
      CHECK_FALSE(gradcheck(f(thousandths, 0), at, options));
      CHECK_FALSE(gradcheck(f(thousandths, -1), at, options));
    }
}

TEST_CASE("a derivative of 0 beside a jump, and between steps of a quantiser, is right",
          "[gradcheck]") {
  const Tensor x = tensor({0.3, -0.7, 1.1, 0.05}, DType::Float64);
  auto steps = [](const Vars& v) { return v[0] * 3.0 + sign(v[0].value()); };
  CHECK(decided(gradcheck(steps, {x}, {.may_round = true})));
  auto halves = [](const Vars& v) { return v[0] * 3.0 + ((v[0].value() + 0x1p51) - 0x1p51); };
  CHECK(decided(gradcheck(halves, {x}, {.may_round = true})));
}

TEST_CASE("a derivative that atol alone makes right is counted apart", "[gradcheck]") {
  // exp(x) - 1 is -1 near -40, and its derivative 4e-18 cannot be told from 0.
  auto one = [](const Vars& v) { return exp(v[0]) - 1.0; };
  for (bool precise : {false, true}) {
    const GradcheckReport report =
        gradcheck(one, {tensor({0.5, -40}, DType::Float64)}, {.precise = precise});
    INFO(report);
    CHECK(report.passed());
    CHECK(report.within_atol() == 2);
    CHECK(contains(report.to_string(), "passed, 4 derivatives, 2 within atol alone"));
  }
  CHECK(gradcheck(one, {tensor({-40}, DType::Float64)}).undecided());
  // Where a step decides relative to the derivative's own size, it is right or wrong.
  auto small = [](double sign) {
    return [sign](const Vars& v) { return squared(v[0]) + 1e-8 * squared(v[1], 2 * sign); };
  };
  const std::vector<GradcheckInput> at{random({3}, 1), random({3}, 2)};
  for (auto mode : {Mode::Full, Mode::Projection}) {
    const GradcheckReport right = gradcheck(small(1), at, {.mode = mode});
    CHECK(right);
    CHECK(right.within_atol() == 0);
    CHECK(gradcheck(small(-1), at, {.mode = mode}).failed() > 0);
  }
  // An atol that the caller sets is the error that a derivative may have: 2 x is 0.02 here, and 3 x is 0.03.
  auto half_more = [](const Vars& v) { return squared(v[0], 3); };
  const std::vector<GradcheckInput> hundredths{tensor({0.01, -0.01}, DType::Float64)};
  for (auto mode : {Mode::Full, Mode::Projection}) {
    auto report = [&](double atol) {
      return gradcheck(half_more, hundredths, {.mode = mode, .atol = atol});
    };
    CHECK(report(0.05).failed() == 0);
    CHECK(report(0.05).within_atol() > 0);
    CHECK(report(0.001).failed() > 0);
  }
  // Zeros of relu and of a mask are right: f has one value.
  const Tensor x = tensor({-0.5, 0.7, -1.2}, DType::Float64);
  const GradcheckReport relus = gradcheck([](const Vars& v) { return relu(v[0]); }, {x});
  CHECK(relus.within_atol() == 0);
  CHECK(relus);
}

}  // namespace test_undecided
