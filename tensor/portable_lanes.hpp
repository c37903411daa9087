// The arithmetic of tensor/portable_formulas.hpp. V is double or a vector of doubles
// (tensor/simd/vec.hpp): both have + - * / and comparisons, in each lane.
//
// Kernel files include this header, so all its functions are static: the linker would merge others.
#pragma once

#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define GLIM_INLINE [[gnu::always_inline]] static inline

namespace glim::portable {

// The bits of numbers, and numbers of bits.
GLIM_INLINE std::uint64_t bits_of(double x) { return __builtin_bit_cast(std::uint64_t, x); }
GLIM_INLINE double number_of(std::uint64_t b) { return __builtin_bit_cast(double, b); }
template <class V>
GLIM_INLINE auto bits_of(V x) {
  typedef std::uint64_t Bits __attribute__((vector_size(sizeof(V))));
  return (Bits)x;
}
template <class B>
GLIM_INLINE auto number_of(B b) {
  typedef double V __attribute__((vector_size(sizeof(B))));
  return (V)b;
}

// c ? x : y in each lane.
template <class C, class V>
GLIM_INLINE V choose(C c, V x, V y) {
  return c ? x : y;
}
template <class V>
GLIM_INLINE V all(double c) {
  return c - V{};  // c - 0 is c, whatever its sign
}
template <class V>
GLIM_INLINE V size_of(V x) {
  return number_of(bits_of(x) & 0x7FFFFFFFFFFFFFFFu);
}
template <class V, class B>
GLIM_INLINE V with_sign(V size, B sign) {  // -size where the first bit is set
  return number_of(bits_of(size) ^ (sign & 0x8000000000000000u));
}
// True if a comparison holds in every lane.
GLIM_INLINE bool every(int c) { return c; }
template <class C>
GLIM_INLINE auto every(C c) -> decltype(c[0] == 0) {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask((__m512i)c) == 0xFF;
#elif defined(__AVX2__)
  return _mm256_movemask_pd((__m256d)c) == 0xF;
#else
  return c[0] && c[1];
#endif
}

// c zⁿ + c₁ zⁿ⁻¹ + ...
template <class V, class... C>
GLIM_INLINE V horner(V z, double c, C... further) {
  V p = all<V>(c);
  ((p = p * z + further), ...);
  return p;
}

template <class V>
struct HiLo {  // hi + lo, lo no more than half a unit in the last place of hi
  V hi, lo;
};

// a + b = hi + lo (Knuth).
template <class V>
GLIM_INLINE HiLo<V> exact_sum(V a, V b) {
  V s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// a + b = hi + lo, for |a| ≥ |b| or an exact sum (Dekker).
template <class V>
GLIM_INLINE HiLo<V> fast_sum(V a, V b) {
  V s = a + b;
  return {s, b - (s - a)};
}

template <class V>
GLIM_INLINE V high_half(V x) {
  V c = 134217729 * x;  // 2^27 + 1
  return c - (c - x);
}
// a·b = hi + lo, from products of halves of 26 bits (Veltkamp, Dekker 1971).
template <class V>
GLIM_INLINE HiLo<V> exact_product(V a, V b) {
  V p = a * b, a1 = high_half(a), a2 = a - a1, b1 = high_half(b), b2 = b - b1;
  return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
}

template <class V>
GLIM_INLINE HiLo<V> operator+(HiLo<V> a, HiLo<V> b) {
  HiLo<V> s = exact_sum(a.hi, b.hi);
  return fast_sum(s.hi, s.lo + (a.lo + b.lo));
}
template <class V>
GLIM_INLINE HiLo<V> operator*(HiLo<V> a, HiLo<V> b) {
  HiLo<V> p = exact_product(a.hi, b.hi);
  return fast_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

}  // namespace glim::portable
