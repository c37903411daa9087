// Where a derivative is undecidable: counted, not failed, and no excuse for a wrong one.
#include <cmath>

#include "tests/autograd/gradcheck/common.hpp"
#include "tests/sanitized.hpp"

namespace test_kinks {

using namespace glim;
using namespace glim::wrongs;

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
    if (kinks) CHECK(report.to_string().find("undecidable") != std::string::npos);
  }
  // A tie: the larger of two equal elements.
  auto tie =
      gradcheck([](const Vars& v) { return max(v[0], {0}); }, {tensor({1, 1, 0}, DType::Float64)});
  CHECK(tie.failed() == 0);
  CHECK(tie.undecidable() == 2);
  CHECK(tie.undecided());  // the third derivative is 0
  // One kink makes a projection undecidable.
  auto whole = gradcheck([](const Vars& v) { return relu(v[0]); }, {x}, {.mode = Mode::Projection});
  CHECK(static_cast<bool>(whole));
  CHECK(whole.undecidable() == 1);
}

TEST_CASE("a projection across several kinks at once is undecidable, not wrong", "[gradcheck]") {
  const Tensor zeros_and_more = tensor({0, 0, 0, 0.7, 0, -0.4, 0, 0}, DType::Float64);
  const std::function<Var(const Var&)> functions[] = {
      [](const Var& x) { return relu(x); },
      [](const Var& x) { return clamp(x, 0, 0.7) + x; },
      [](const Var& x) {
        return concatenate({relu(x), relu(-x)}, 0);
      },  // two kinks of one element
      [](const Var& x) { return relu(tanh(x) * 3) * (x + 1); },
      [](const Var& x) {
        return max(reshape(x, {2, 4}), {0});
      },
  };
  for (const auto& f : functions)
    for (bool precise : {false, true})
      for (std::uint64_t seed = 0; seed < 8; seed += kEvery) {
        auto report = gradcheck(
            [&](const Vars& v) { return f(v[0]); }, {zeros_and_more},
            {.mode = Mode::Projection, .directions = 3, .precise = precise, .seed = seed});
        INFO(report);
        CHECK(static_cast<bool>(report));
        CHECK(report.undecidable() > 0);
      }
  const auto in_full = gradcheck([](const Vars& v) { return sort(v[0]).values; },
                                 {tensor({0.3, 0.3, -1, 0.3}, DType::Float64)});
  CHECK(static_cast<bool>(in_full));
  CHECK(in_full.undecidable() > 0);
  // A mistake elsewhere, or at the kinks by more than they explain, is still found.
  for (double wrong : {2.5, 40.0})
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      auto f = [&](const Vars& v) { return relu(v[0]) + squared(v[0], wrong); };
      auto elsewhere = gradcheck(f, {zeros_and_more}, {.mode = Mode::Projection, .seed = seed});
      CHECK(elsewhere.failed() == 1);
      auto steep = [&](const Vars& v) { return relu(v[0]) + squared(v[0] + 1, 40); };
      CHECK(gradcheck(steep, {zeros({8}, DType::Float64)}, {.mode = Mode::Projection, .seed = seed})
                .failed() == 1);
    }
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

}  // namespace test_kinks
