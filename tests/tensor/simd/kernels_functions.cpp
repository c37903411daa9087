// The vector functions against the C library in float64: their error in units in the last place
// over the whole range, and their limits.
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/simd/rows.hpp"

namespace test_kernels_functions {

using namespace glim;
using namespace glim::kernel_tests;

namespace {

struct Exact {
  const char* name;
  ElementFunction f;
  double (*value)(double);
  float low, high;
  double ulps;  // largest error allowed, in units in the last place of the exact value
};
const Exact kExact[] = {
    {"exp", ElementFunction::exp, [](double x) { return std::exp(x); }, -87, 88.7f, 2},
    {"tanh", ElementFunction::tanh, [](double x) { return std::tanh(x); }, -12, 12, 3},
    {"sigmoid", ElementFunction::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80,
     4},
    {"erf", ElementFunction::erf, [](double x) { return std::erf(x); }, -5, 5, 4},
};

double unit(double y) {
  auto f = static_cast<float>(std::abs(y));
  return static_cast<double>(std::nextafter(f, std::numeric_limits<float>::infinity())) -
         static_cast<double>(f);
}

std::vector<float> of(Isa isa, ElementFunction f, std::vector<float> x) {
  dispatch<simd::function<float>>.on(isa)(f, static_cast<Index>(x.size()), x.data(), x.data());
  return x;
}

}  // namespace

TEST_CASE("vector functions stay within their error bound", "[kernels]") {
  for (Isa isa : supported_isas())
    for (const Exact& e : kExact) {
      INFO(e.name << ", " << name_of(isa));
      std::vector<float> x;
      constexpr int kPoints = 100003;
      for (int i = 0; i <= kPoints; ++i) {
        double share = static_cast<double>(i) / kPoints;
        x.push_back(static_cast<float>(e.low + share * (static_cast<double>(e.high) - e.low)));
      }
      std::vector<float> y = of(isa, e.f, x);
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        double exact = e.value(static_cast<double>(x[i]));
        double error = std::abs(static_cast<double>(y[i]) - exact) / unit(exact);
        if (!(error <= worst)) worst = error;
      }
      CHECK(worst <= e.ulps);
    }
}

TEST_CASE("vector functions have the limits of the C library's", "[kernels]") {
  const float inf = std::numeric_limits<float>::infinity();
  for (Isa isa : supported_isas()) {
    INFO(name_of(isa));
    CHECK(of(isa, ElementFunction::exp, {-inf, -200, 0, 90, inf}) ==
          std::vector<float>{0, 0, 1, inf, inf});
    CHECK(of(isa, ElementFunction::exp, {-100})[0] ==
          Approx(std::exp(-100.0)).epsilon(0.1));  // subnormal
    CHECK(of(isa, ElementFunction::tanh, {-inf, -20, 0, 20, inf}) ==
          std::vector<float>{-1, -1, 0, 1, 1});
    CHECK(of(isa, ElementFunction::sigmoid, {-inf, 0, inf}) == std::vector<float>{0, 0.5f, 1});
    CHECK(of(isa, ElementFunction::erf, {-inf, -6, 0, 6, inf}) ==
          std::vector<float>{-1, -1, 0, 1, 1});
    // Where one formula ends and the next begins, the next.
    CHECK(of(isa, ElementFunction::tanh, {-0.625, 0.625}) ==
          std::vector<float>{-0x1.1bf48p-1f, 0x1.1bf48p-1f});
    CHECK(of(isa, ElementFunction::erf, {-1, 1}) ==
          std::vector<float>{-0x1.af767ap-1f, 0x1.af767ap-1f});
    float nan = std::numeric_limits<float>::quiet_NaN();
    for (const FunctionRow& row : kFunctionRows) CHECK(std::isnan(of(isa, row.f, {nan})[0]));
  }
  CHECK(log(tensor({0, 1, inf})).to_vector<float>() == std::vector<float>{-inf, 0, inf});
  CHECK(log(tensor({1e-40})).item() == Approx(std::log(1e-40)));
  CHECK(std::isnan(log(tensor({-1})).item()));
}

TEST_CASE("rows of any length equal the definition", "[kernels]") {
  for (Isa isa : supported_isas())
    for (Index n : {1, 7, 8, 15, 16, 17, 33}) {
      std::vector<double> x(static_cast<std::size_t>(n)), y = x;
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.37 * static_cast<double>(i) - 3;
      dispatch<simd::function<double>>.on(isa)(ElementFunction::gelu_erf, n, x.data(), y.data());
      for (std::size_t i = 0; i < x.size(); ++i)
        CHECK(y[i] == Approx(x[i] * 0.5 * (1 + std::erf(x[i] / std::sqrt(2.0)))).margin(1e-14));
    }
}

}  // namespace test_kernels_functions
