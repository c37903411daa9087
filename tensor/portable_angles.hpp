// Sine and cosine: formulas as those of tensor/portable_formulas.hpp.
//
//   x = q π/2 + r,  |r| ≤ π/4:   ± sin r or ± cos r, by their Taylor series
//
// Beyond 2²⁰, q and r come from as many bits of 2/π as the angle needs (tensor/portable.cpp).
#pragma once

#include "tensor/portable_formulas.hpp"

namespace glim::portable {

inline constexpr double kMediumAngle = 0x1p20;
// q modulo 4, and r in hi + lo, of those of n angles that are beyond; NaN for ∞.
void reduce_large(int n, const double* angle, double* hi, double* lo, std::uint64_t* q);

template <class V>
GLIM_INLINE V sine(HiLo<V> r) {
  V x = r.hi, z = x * x, cube = z * x;
  V p = horner(z, 1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
               1.0 / 362880, -1.0 / 5040, 1.0 / 120);
  // sin(x + lo) = x - x³/6 + ... + lo (1 - x²/2)
  return x - ((z * (0.5 * r.lo - cube * p) - r.lo) + cube * (1.0 / 6));
}

template <class V>
GLIM_INLINE V cosine(HiLo<V> r) {
  V x = r.hi, z = x * x, half = 0.5 * z, w = 1 - half;
  V p = horner(z, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
               1.0 / 40320, -1.0 / 720, 1.0 / 24);
  return w + (((1 - w) - half) + (z * z * p - x * r.lo));
}

// sin(x + quarter π/2)
template <class V>
GLIM_INLINE V turned(V x, unsigned quarter) {
  // π/2 in parts of 33 bits and the rest (Cody & Waite 1980): q times a part is exact.
  constexpr double part[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69,
                             0x1.b839a252049c1p-104};
  V size = size_of(x), shifted = size * 0.6366197723675814 + kRound, q = shifted - kRound;
  auto quadrant = bits_of(shifted);  // its last two bits
  HiLo<V> first = fast_sum(size - q * part[0], -(q * part[1]));
  HiLo<V> next = fast_sum(first.hi, -(q * part[2]));
  HiLo<V> r = fast_sum(next.hi, (first.lo + next.lo) - q * part[3]);
  if (!every(size <= kMediumAngle)) [[unlikely]] {
    V angle = size;
    HiLo<V> rest = r;
    auto turns = quadrant;
    reduce_large(sizeof(V) / sizeof(double), (const double*)&angle, (double*)&rest.hi,
                 (double*)&rest.lo, (std::uint64_t*)&turns);
    r = rest, quadrant = turns;
  }
  quadrant = quadrant + quarter;
  V y = choose((quadrant & 1) == 0, sine(r), cosine(r));
  y = with_sign(y, quadrant << 62);
  return quarter == 0 ? with_sign(y, bits_of(x)) : y;
}

template <class V>
GLIM_INLINE V sin(V x) {
  return turned(x, 0);
}
template <class V>
GLIM_INLINE V cos(V x) {
  return turned(x, 1);
}

}  // namespace glim::portable
