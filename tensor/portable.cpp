#include "tensor/portable.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/portable_pairs.hpp"

namespace glim::portable {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts (Cody & Waite 1980): a multiple of the first by an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

double power_of_two(int n) {  // n from -1022 to 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

// e^(hi + lo) = 2ⁿ e^r,  n = round(hi/ln 2),  |r| ≤ ln2/2, by the Taylor series.
double exp_of(HiLo x) {
  constexpr std::array<double, 12> c = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
      1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2};
  if (x.hi != x.hi) return x.hi;
  if (x.hi > 709.79) return kInf;
  if (x.hi < -745.2) return 0;
  constexpr double kRound = 0x1.8p52;
  double whole = (x.hi * 1.4426950408889634 + kRound) - kRound;
  int n = static_cast<int>(whole);
  double high = x.hi - whole * kLn2High, low = whole * kLn2Low - x.lo;
  double r = high - low, error = (high - r) - low;
  double y = 1 + (r + (r * r * horner(r, c) + error));
  int half = n / 2;
  return y * power_of_two(half) * power_of_two(n - half);
}

// x = 2ᵏ m,  m in [√½, √2), for 0 < x < ∞.
struct Split {
  double k, m;
};
Split split(double x) {
  int k = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    k = -54;
  }
  auto bits = std::bit_cast<std::uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++k;
  }
  return {static_cast<double>(k), m};
}

// 2/(2i + 3) from the last on: ln m = 2 s + s³ (2/3 + 2/5 s² + ...),  s = (m - 1)/(m + 1), |s| < 0.172
constexpr std::array<double, 10> kAtanh = {2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13,
                                           2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};

// ln x to some 64 bits, for pow.
HiLo log_pair(double x) {
  auto [k, m] = split(x);
  double f = m - 1;
  HiLo g = exact_sum(m, 1);
  double s = f / g.hi;
  HiLo back = exact_product(s, g.hi);
  HiLo quotient = exact_sum(s, (((f - back.hi) - back.lo) - s * g.lo) / g.hi);
  HiLo square = quotient * quotient;
  // 1/3 + s²/5 + s⁴/7 ...: the first term in two parts
  std::array<double, 9> c;
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = kAtanh[i] / 2;
  HiLo third{0x1.5555555555555p-2, 0x1.5555555555555p-56};
  HiLo rest = square * (third + HiLo{square.hi * horner(square.hi, c), 0});
  HiLo twice{2 * quotient.hi, 2 * quotient.lo};
  HiLo log_m = twice + twice * rest;
  return HiLo{k * kLn2High, 0} + HiLo{k * kLn2Low, 0} + log_m;
}

}  // namespace

double exp(double x) { return exp_of({x, 0}); }

double log(double x) {
  if (x != x || x == kInf) return x;
  if (x == 0) return -kInf;
  if (x < 0) return kNaN;
  auto [k, m] = split(x);
  double f = m - 1, s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  // 2 s = f - s f, and s f = f²/2 - s f²/2: of the terms that are added last, f is exact.
  double rest = z * horner(z, kAtanh);
  return k * kLn2High - ((half - (s * (half + rest) + k * kLn2Low)) - f);
}

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  double size = std::abs(x);
  if (std::abs(y) == kInf) return size == 1 ? 1 : (size > 1) == (y > 0) ? kInf : 0;
  bool whole = std::abs(y) >= 0x1p53 || y == std::trunc(y);
  bool odd = whole && std::abs(y) < 0x1p53 && static_cast<std::int64_t>(y) % 2 != 0;
  double sign = std::signbit(x) && odd ? -1 : 1;
  if (size == 0) return sign * (y < 0 ? kInf : 0);
  if (size == kInf) return sign * (y < 0 ? 0 : kInf);
  if (x < 0 && !whole) return kNaN;
  if (size == 1) return sign;
  if (std::abs(y) > 0x1p66) return sign * ((size > 1) == (y > 0) ? kInf : 0);
  HiLo product = log_pair(size) * HiLo{y, 0};
  return sign * exp_of(product);
}

// Near 0 a rational function of Cephes (Moshier 1989), beyond it the definition.
double tanh(double x) {
  double size = std::abs(x);
  if (size < 0x1p-28) return x;
  if (size < 0.625) {
    double z = x * x;
    double p = horner<3>(
        z, {-9.64399179425052238628E-1, -9.92877231001918586564E1, -1.61468768441708447952E3});
    double q = horner<4>(
        z, {1, 1.12811678491632931402E2, 2.23548839060100448583E3, 4.84406305325125486048E3});
    return x + x * z * (p / q);
  }
  double y = 1 - 2 / (exp(2 * size) + 1);
  return x < 0 ? -y : y;
}

// Rational functions of Cephes (Moshier 1989): x T(x²)/U(x²) near 0, beyond it 1 - e^{-x²} P(x)/Q(x).
double erf(double x) {
  double size = std::abs(x);
  if (x != x || x == 0) return x;
  if (size <= 1) {
    double z = x * x;
    // x + x (T - U)/U: what is rounded is the smaller part.
    double difference = horner<6>(z, {-1, -23.956740424879797, -431.3319300597684,
                                      -2362.3184837629583, -15625.674920261044, 6324.907040175902});
    double u = horner<6>(
        z, {1, 3.35617141647503099647E1, 5.21357949780152679795E2, 4.59432382970980127987E3,
            2.26290000613890934246E4, 4.92673942608635921086E4});
    return x + x * (difference / u);
  }
  if (size > 6) return x < 0 ? -1 : 1;
  double p = horner<9>(
      size, {2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0,
             4.86371970985681366614E1, 1.96520832956077098242E2, 5.26445194995477358631E2,
             9.34528527171957607540E2, 1.02755188689515710272E3, 5.57535335369399327526E2});
  double q = horner<9>(
      size, {1, 1.32281951154744992508E1, 8.67072140885989742329E1, 3.54937778887819891062E2,
             9.75708501743205489753E2, 1.82390916687909736289E3, 2.24633760818710981792E3,
             1.65666309194161350182E3, 5.57535340817727675546E2});
  double y = 1 - exp(-size * size) * p / q;
  return x < 0 ? -y : y;
}

}  // namespace glim::portable
