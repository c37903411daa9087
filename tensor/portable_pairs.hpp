// Polynomials, and sums and products without a rounding, as pairs of float64: for the sources of
// tensor/portable.hpp.
#pragma once

#include <array>

namespace glim::portable {

// c₀ zⁿ⁻¹ + c₁ zⁿ⁻² + ...
template <std::size_t n>
double horner(double z, const std::array<double, n>& c) {
  double p = c[0];
  for (std::size_t i = 1; i < n; ++i) p = p * z + c[i];
  return p;
}

struct HiLo {  // hi + lo, lo no more than half a unit in the last place of hi
  double hi, lo;
};

// a + b = hi + lo (Knuth).
inline HiLo exact_sum(double a, double b) {
  double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

// a·b = hi + lo, from products of halves of 26 bits (Veltkamp, Dekker 1971).
inline HiLo exact_product(double a, double b) {
  auto high = [](double x) {
    double c = 134217729 * x;  // 2^27 + 1
    return c - (c - x);
  };
  double p = a * b, a1 = high(a), a2 = a - a1, b1 = high(b), b2 = b - b1;
  return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}

inline HiLo operator+(HiLo a, HiLo b) {
  HiLo s = exact_sum(a.hi, b.hi);
  return exact_sum(s.hi, s.lo + (a.lo + b.lo));
}
inline HiLo operator*(HiLo a, HiLo b) {
  HiLo p = exact_product(a.hi, b.hi);
  return exact_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

}  // namespace glim::portable
