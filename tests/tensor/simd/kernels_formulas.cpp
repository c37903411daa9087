// The formulas of tensor/portable_formulas.hpp give a vector the bits that they give a double, with
// every instruction set: at each exponent, at limits and where one case of a formula ends, in rows of
// any length.
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/portable.hpp"
#include "tensor/portable_angles.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/simd/rows.hpp"

namespace test_kernels_formulas {

using namespace glim;
using namespace glim::kernel_tests;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Formula {
  const char* name;
  ElementFunction f;
  double (*value)(double);
  bool of_float32;  // which rounds it
};
#define GLIM_ROUNDED(name) {#name, ElementFunction::name, portable::name<double>, true},
const Formula kFormulas[] = {{"exp", ElementFunction::exp, portable::exp, false},
                             {"tanh", ElementFunction::tanh, portable::tanh, false},
                             {"erf", ElementFunction::erf, portable::erf, false},
                             GLIM_FLOAT64_FUNCTIONS(GLIM_ROUNDED)};
#undef GLIM_ROUNDED

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

const std::vector<double>& limits() {
  static const std::vector<double> list = [] {
    std::vector<double> x;
    for (double size : {0.0,
                        5e-324,
                        1e-310,
                        0x1p-1022,
                        0x1p-28,
                        0.5,
                        0.625,
                        0.785,
                        0x1.6a09e667f3bcdp-1,
                        0x1.921fb54442d18p-1,
                        1.0,
                        0x1.6a09e667f3bcdp+0,
                        0x1.921fb54442d18p+0,
                        1.5,
                        2.0,
                        3.0,
                        6.0,
                        708.0,
                        709.79,
                        745.2,
                        0x1p20,
                        0x1p51,
                        0x1.8p51,
                        0x1p52,
                        0x1.8p52,
                        0x1p53,
                        0x1p66,
                        1e308})
      for (double near : {std::nextafter(size, -1.0), size, std::nextafter(size, kInf)})
        for (double v : {near, -near}) x.push_back(v);
    for (double v : {kInf, -kInf, std::nan("")}) x.push_back(v);
    return x;
  }();
  return list;
}

// The limits, and eight numbers of each exponent.
std::vector<double> arguments() {
  std::vector<double> x = limits();
  for (std::uint64_t exponent = 0; exponent < 2047; ++exponent)
    for (std::uint64_t i = 0; i < 8; ++i) {
      std::uint64_t r = std::bit_cast<std::uint64_t>(uniform_at({7, exponent}, i)) << 12 >> 12;
      std::uint64_t mantissa = i < 2   ? 0
                               : i < 4 ? 0xFFFFFFFFFFFFF
                                       : r ^ (r << 20 & 0xFFFFFFFFFFFFF);
      x.push_back(std::bit_cast<double>(i % 2 << 63 | exponent << 52 | mantissa));
    }
  for (std::uint64_t i = 0; i < 4000; ++i) {
    x.push_back(20 * uniform_at({7, 1}, i) - 10);
    x.push_back(3000 * uniform_at({7, 2}, i) - 1500);
    x.push_back(std::round(1000 * uniform_at({7, 3}, i)) * 0x1.921fb54442d18p-1);
  }
  return x;
}

}  // namespace

TEST_CASE("a vector's formula has the bits of the scalar one", "[kernels]") {
  const std::vector<double> x = arguments();
  std::vector<float> rounded;
  for (double v : x) rounded.push_back(static_cast<float>(v));
  const auto n = static_cast<Index>(x.size());
  for (Isa isa : supported_isas())
    for (const Formula& f : kFormulas) {
      INFO(f.name << ", " << name_of(isa));
      std::vector<double> y(x.size());
      std::vector<float> z(x.size());
      dispatch<simd::function<double>>.on(isa)(f.f, n, x.data(), y.data());
      dispatch<simd::function<float>>.on(isa)(f.f, n, rounded.data(), z.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!same(y[i], f.value(x[i]))) FAIL(x[i] << " gives " << y[i]);
        const auto v = static_cast<float>(f.value(static_cast<double>(rounded[i])));
        if (f.of_float32 && !same(static_cast<double>(z[i]), static_cast<double>(v)))
          FAIL("float32 " << rounded[i] << " gives " << z[i]);
      }
    }
}

TEST_CASE("a vector's power has the bits of the scalar one", "[kernels]") {
  std::vector<double> x, exponents;
  for (double a : limits())
    for (double b : limits()) x.push_back(a), exponents.push_back(b);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    x.push_back(std::exp2(80 * uniform_at({8, 1}, i) - 40) * (i % 2 ? 1 : -1));
    double e = 40 * uniform_at({8, 2}, i) - 20;
    exponents.push_back(i % 3 ? e : std::round(e));
  }
  for (Isa isa : supported_isas()) {
    INFO(name_of(isa));
    std::vector<double> y(x.size());
    dispatch<simd::power<double>>.on(isa)(static_cast<Index>(x.size()), x.data(), exponents.data(),
                                          y.data());
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!same(y[i], portable::pow(x[i], exponents[i])))
        FAIL(x[i] << " to " << exponents[i] << " gives " << y[i]);
  }
}

TEST_CASE("a formula computes rows of any length, and nothing beyond", "[kernels]") {
  auto check = [](Isa isa, auto of_type, Index n) {
    using T = decltype(of_type);
    auto x = random<T>(40, 1), y = std::vector<T>(40, T(-7)), z = y;
    dispatch<simd::function<T>>.on(isa)(ElementFunction::sin, n, x.data(), y.data());
    dispatch<simd::power<T>>.on(isa)(n, x.data(), x.data(), z.data());
    for (Index i = 0; i < 40; ++i) {
      auto k = static_cast<std::size_t>(i);
      const auto v = static_cast<double>(x[k]);
      CHECK(same(static_cast<double>(y[k]),
                 i < n ? static_cast<double>(static_cast<T>(portable::sin(v))) : -7));
      CHECK(same(static_cast<double>(z[k]),
                 i < n ? static_cast<double>(static_cast<T>(portable::pow(v, v))) : -7));
    }
  };
  for (Isa isa : supported_isas())
    for (Index n = 0; n <= 33; ++n) {
      INFO(n << " elements, " << name_of(isa));
      check(isa, float(), n);
      check(isa, double(), n);
    }
}

}  // namespace test_kernels_formulas
