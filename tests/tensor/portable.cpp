// The functions of tensor/portable.hpp against the C library's in extended precision, their limits, and bits
// that every machine must give.
#include "tensor/portable.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace test_portable {

using namespace glim;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kPoints = 50000;

double random_in(double low, double high, int i, std::uint64_t stream) {
  return low + (high - low) * uniform_at({5, stream}, static_cast<std::uint64_t>(i));
}

// In units in the last place of the exact value.
double error(double got, long double exact) {
  double rounded = static_cast<double>(exact), size = std::abs(rounded);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : kInf;
  double unit = std::nextafter(size, kInf) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) /
                             static_cast<long double>(unit));
}

template <class F, class Exact>
void check(const char* name, double most, double low, double high, const F& f, const Exact& exact) {
  double worst = 0, at = 0;
  for (int i = 0; i < kPoints; ++i) {
    double x = random_in(low, high, i, 1), e = error(f(x), exact(static_cast<long double>(x)));
    if (!(e <= worst)) worst = e, at = x;
  }
  INFO(name << " in [" << low << ", " << high << "], worst at " << at);
  CHECK(worst <= most);
}

template <Tensor (*f)(const Tensor&)>
double of_tensors(double x) {
  return f(scalar(x, DType::Float64)).item();
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

}  // namespace

TEST_CASE("portable functions stay within their error bound", "[portable]") {
  if (std::numeric_limits<long double>::digits <= 53) {
    SUCCEED("long double is no wider than double here");
    return;
  }
  auto exp = [](long double x) { return std::exp(x); };
  check("exp", 1, -1, 1, portable::exp, exp);
  check("exp", 1, -708, 709.7, portable::exp, exp);
  check("exp", 1, -745, -708, portable::exp, exp);
  auto log = [](long double x) { return std::log(x); };
  check("log", 1, 0.5, 2, portable::log, log);
  check("log", 1, 0.999, 1.001, portable::log, log);
  check("log", 1, 0, 1e9, portable::log, log);
  check("log", 1, 0, 1e-308, portable::log, log);
  auto tanh = [](long double x) { return std::tanh(x); };
  check("tanh", 1.5, -1, 1, portable::tanh, tanh);
  check("tanh", 1.5, -25, 25, portable::tanh, tanh);
  auto erf = [](long double x) { return std::erf(x); };
  check("erf", 2, -1, 1, portable::erf, erf);
  check("erf", 2, -7, 7, portable::erf, erf);
  auto expm1 = [](long double x) { return std::expm1(x); };
  for (double high : {1e-20, 1e-3, 1.0, 709.78})
    check("expm1", 3, -std::min(high, 40.0), high, of_tensors<glim::expm1>, expm1);
  check("expm1", 1, 700, 709.78, of_tensors<glim::expm1>, expm1);
  auto log1p = [](long double x) { return std::log1p(x); };
  for (double high : {1e-20, 1e-3, 1.0, 1e9, 1e300})
    check("log1p", 2.5, -std::min(high, 1.0), high, of_tensors<glim::log1p>, log1p);
  auto sin = [](long double x) { return std::sin(x); };
  auto cos = [](long double x) { return std::cos(x); };
  for (double high : {1.0, 10.0, 1e5, 1e10}) {
    check("sin", 1, -high, high, portable::sin, sin);
    check("cos", 1, -high, high, portable::cos, cos);
  }
  double worst = 0;
  for (int i = 0; i < kPoints; ++i) {  // beside multiples of π/4
    double x = std::round(random_in(0, 3e6, i, 6)) * 0x1.921fb54442d18p-1;
    worst = std::max(worst, error(portable::sin(x), sin(static_cast<long double>(x))));
    worst = std::max(worst, error(portable::cos(x), cos(static_cast<long double>(x))));
  }
  INFO("sin and cos");
  CHECK(worst <= 1);
  worst = 0;
  for (int i = 0; i < kPoints; ++i) {
    double x = std::exp2(random_in(-40, 40, i, 2)), y = random_in(-20, 20, i, 3);
    worst = std::max(worst, error(portable::pow(x, y), std::pow(static_cast<long double>(x),
                                                                static_cast<long double>(y))));
    x = random_in(0.9, 1.1, i, 4), y *= 300;
    worst = std::max(worst, error(portable::pow(x, y), std::pow(static_cast<long double>(x),
                                                                static_cast<long double>(y))));
  }
  INFO("pow");
  CHECK(worst <= 2);
}

TEST_CASE("portable functions have the limits of the C library's", "[portable]") {
  const std::vector<double> special = {0.0,
                                       -0.0,
                                       1,
                                       -1,
                                       2,
                                       -2,
                                       0.5,
                                       -0.5,
                                       3,
                                       -3,
                                       kInf,
                                       -kInf,
                                       5e-324,
                                       1e308,
                                       -1e308,
                                       2.5,
                                       1e300,
                                       0x1.0000000000001p52,
                                       0x1.0000000000001p51,
                                       std::numeric_limits<double>::quiet_NaN()};
  for (double x : special) {
    INFO(x);
    for (double y : special) {
      double a = portable::pow(x, y), b = std::pow(x, y);
      INFO(y);
      CHECK((same(a, b) || error(a, static_cast<long double>(b)) <= 1));
    }
    auto near = [](double a, double b) {
      return same(a, b) ||
             (std::abs(a - b) <= 1e-15 * std::abs(b) && std::signbit(a) == std::signbit(b));
    };
    CHECK(near(portable::exp(x), std::exp(x)));
    CHECK(near(portable::log(x), std::log(x)));
    CHECK(near(of_tensors<glim::expm1>(x), std::expm1(x)));
    CHECK(near(of_tensors<glim::log1p>(x), std::log1p(x)));
    CHECK(near(portable::tanh(x), std::tanh(x)));
    CHECK(near(portable::erf(x), std::erf(x)));
    CHECK(near(portable::sin(x), std::sin(x)));
    CHECK(near(portable::cos(x), std::cos(x)));
  }
  // The number nearest to a multiple of pi/2, whose cosine is that of a reduction without loss.
  CHECK(portable::cos(std::ldexp(6381956970095103, 797)) == -4.6871659242546277e-19);
}

}  // namespace test_portable
