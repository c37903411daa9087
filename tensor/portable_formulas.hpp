// The formulas of tensor/portable.hpp, each written once for a double and for a vector of doubles, so
// that both have the same bits. Where a formula has cases, each is computed and one chosen. A case
// that is rare is skipped when no lane needs it (`every`).
#pragma once

#include "tensor/portable_lanes.hpp"

namespace glim::portable {

inline constexpr double kInf = __builtin_inf(), kNaN = __builtin_nan("");
// ln 2 in two parts (Cody & Waite 1980): a multiple of the first by an exponent is exact.
inline constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
// Adding it rounds to an integer, which is then in the low bits.
inline constexpr double kRound = 0x1.8p52;

// e^(hi + lo) = 2ⁿ e^r,  n = round(hi/ln 2),  |r| ≤ ln2/2, by the Taylor series.
template <class V>
GLIM_INLINE V exp_of(HiLo<V> x) {
  V shifted = x.hi * 1.4426950408889634 + kRound, whole = shifted - kRound;
  V high = x.hi - whole * kLn2High, low = whole * kLn2Low - x.lo;
  V r = high - low, error = (high - r) - low;
  V p = horner(r, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
               1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2);
  V y = 1 + (r + (r * r * p + error));
  auto n = bits_of(shifted);
  if (every(size_of(x.hi) < 708)) [[likely]]
    return y * number_of((n + 1023) << 52);
  // 2ⁿ in two factors, of which the first is exact: subnormal results are rounded once.
  auto half = n >> 1;
  y = y * number_of((half + 1023) << 52) * number_of((n - half + 1023) << 52);
  y = choose(x.hi > 709.79, all<V>(kInf), y);
  return choose(x.hi < -745.2, V{}, y);
}
template <class V>
GLIM_INLINE V exp(V x) {
  return exp_of(HiLo<V>{x, V{}});
}

// x = 2ᵏ m,  m in [√½, √2), for 0 < x < ∞. True for `normal` if no lane is subnormal.
template <class V>
struct Split {
  V k, m;
};
template <class V>
GLIM_INLINE Split<V> split(V x, bool normal) {
  constexpr std::uint64_t kLowest = 0x3FE6A09E667F3BCE, kOne = 0x3FF0000000000000;  // √½, 1
  V bias = all<V>(0x1p52 + 1023);
  if (!normal) [[unlikely]] {
    auto subnormal = x < 0x1p-1022;
    x = choose(subnormal, x * 0x1p54, x);
    bias = choose(subnormal, bias + 54, bias);
  }
  auto b = bits_of(x) + (kOne - kLowest);
  // The bits of 2⁵² + k + 1023, and of m
  return {number_of((b >> 52) | 0x4330000000000000u) - bias,
          number_of((b & 0xFFFFFFFFFFFFFu) + kLowest)};
}

// 2/(2i + 3) from the last on:
//
//   ln m = 2 s + s³ (2/3 + 2/5 s² + ...),  s = (m - 1)/(m + 1), |s| < 0.172
#define GLIM_ATANH(unit) \
  unit / 21, unit / 19, unit / 17, unit / 15, unit / 13, unit / 11, unit / 9, unit / 7, unit / 5

template <class V>
GLIM_INLINE V log(V x) {
  const bool usual = every((x >= 0x1p-1022) & (x < kInf));
  auto [k, m] = split(x, usual);
  V f = m - 1, s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  // 2 s = f - s f, and s f = f²/2 - s f²/2: of the terms that are added last, f is exact.
  V rest = z * horner(z, GLIM_ATANH(2.0), 2.0 / 3);
  V y = k * kLn2High - ((half - (s * (half + rest) + k * kLn2Low)) - f);
  if (usual) [[likely]]
    return y;
  V limit = choose(x == 0, all<V>(-kInf), choose(x < 0, all<V>(kNaN), x));
  return choose((x > 0) & (x < kInf), y, limit);
}

// ln x to some 64 bits, for pow.
template <class V>
GLIM_INLINE HiLo<V> log_pair(V x) {
  auto [k, m] = split(x, every(x >= 0x1p-1022));
  V f = m - 1;
  HiLo<V> g = exact_sum(m, all<V>(1));
  V s = f / g.hi;
  HiLo<V> back = exact_product(s, g.hi);
  HiLo<V> quotient = exact_sum(s, (((f - back.hi) - back.lo) - s * g.lo) / g.hi);
  HiLo<V> square = quotient * quotient;
  // 1/3 + s²/5 + s⁴/7 ...: the first term in two parts
  HiLo<V> third{all<V>(0x1.5555555555555p-2), all<V>(0x1.5555555555555p-56)};
  HiLo<V> rest = square * (third + HiLo<V>{square.hi * horner(square.hi, GLIM_ATANH(1.0)), V{}});
  HiLo<V> twice{2 * quotient.hi, 2 * quotient.lo};
  HiLo<V> log_m = twice + twice * rest;
  return HiLo<V>{k * kLn2High, V{}} + HiLo<V>{k * kLn2Low, V{}} + log_m;
}
#undef GLIM_ATANH

// True where y ≥ 0 is an integer.
template <class V>
GLIM_INLINE auto is_whole(V y) {
  return (y >= 0x1p52) | ((y + 0x1p52) - 0x1p52 == y);
}

template <class V>
GLIM_INLINE V pow(V x, V y) {
  V size = size_of(x), exponent = size_of(y);
  auto whole = is_whole(exponent), odd = whole & (whole ^ is_whole(0.5 * exponent));
  V power = exp_of(log_pair(size) * HiLo<V>{y, V{}});
  V limit = choose((size > 1) ^ (y > 0), V{}, all<V>(kInf));
  power = choose((size == 0) | (size == kInf) | (exponent > 0x1p66), limit, power);
  power = choose(size == 1, all<V>(1), power);
  power = choose(odd, with_sign(power, bits_of(x)), power);
  power = choose(whole | (x >= 0) | (size == kInf), power, all<V>(kNaN));
  power = choose((x == x) & (y == y), power, x + y);
  return choose((y == 0) | (x == 1), all<V>(1), power);
}

// e^x - 1. The quotient restores digits of x that e^x lost (Kahan); y x overflows from 703 on.
template <class V>
GLIM_INLINE V expm1(V x) {
  V e = exp<V>(x), y = e - 1;
  V exact = y * x / log<V>(e);
  return choose(e == 1, x, choose((y == -1) | (x > 700), y, exact));
}

// ln(1 + x), likewise. From 2⁵³ on 1 + x is x, and y x may overflow.
template <class V>
GLIM_INLINE V log1p(V x) {
  V sum = 1 + x, y = log<V>(sum);
  return choose(sum == 1, x, choose(x > 0x1p53, y, y * x / (sum - 1)));
}

// ln(1 + e^x), without overflow
template <class V>
GLIM_INLINE V softplus(V x) {
  V rest = log1p<V>(exp<V>(-size_of(x)));
  return choose(x > 0, x + rest, rest);
}

template <class V>
GLIM_INLINE V sigmoid(V x) {
  V e = exp<V>(-size_of(x)), s = 1 / (e + 1);
  return choose(x >= 0, s, e * s);
}

// Near 0 a rational function of Cephes (Moshier 1989), beyond it the definition.
template <class V>
GLIM_INLINE V tanh(V x) {
  V size = size_of(x), z = x * x;
  V p = horner(z, -9.64399179425052238628E-1, -9.92877231001918586564E1, -1.61468768441708447952E3);
  V q = horner(z, 1, 1.12811678491632931402E2, 2.23548839060100448583E3, 4.84406305325125486048E3);
  auto small = size < 0.625;
  V quotient = choose(small, p, all<V>(2)) / choose(small, q, exp<V>(2 * size) + 1);
  V near = x + x * z * quotient, far = with_sign(1 - quotient, bits_of(x));
  return choose(size < 0x1p-28, x, choose(small, near, far));
}

// Rational functions of Cephes (Moshier 1989): x T(x²)/U(x²) near 0, beyond it
// 1 - e^{-x²} P(x)/Q(x).
template <class V>
GLIM_INLINE V erf(V x) {
  V size = size_of(x), z = x * x;
  // x + x (T - U)/U: what is rounded is the smaller part.
  V difference = horner(z, -1, -23.956740424879797, -431.3319300597684, -2362.3184837629583,
                        -15625.674920261044, 6324.907040175902);
  V u = horner(z, 1, 3.35617141647503099647E1, 5.21357949780152679795E2, 4.59432382970980127987E3,
               2.26290000613890934246E4, 4.92673942608635921086E4);
  V p =
      horner(size, 2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0,
             4.86371970985681366614E1, 1.96520832956077098242E2, 5.26445194995477358631E2,
             9.34528527171957607540E2, 1.02755188689515710272E3, 5.57535335369399327526E2);
  V q = horner(size, 1, 1.32281951154744992508E1, 8.67072140885989742329E1,
               3.54937778887819891062E2, 9.75708501743205489753E2, 1.82390916687909736289E3,
               2.24633760818710981792E3, 1.65666309194161350182E3, 5.57535340817727675546E2);
  auto small = size <= 1;
  V quotient = choose(small, difference, exp<V>(-size * size) * p) / choose(small, u, q);
  V near = x + x * quotient, far = choose(size > 6, all<V>(1), 1 - quotient);
  return choose(small, near, with_sign(far, bits_of(x)));
}

}  // namespace glim::portable
