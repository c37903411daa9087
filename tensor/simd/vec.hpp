// Vectors as wide as a register, for kernel files alone: one source, compiled once for each instruction
// set.
//
// 64 bytes with AVX-512, 32 with AVX2, 16 otherwise (SSE2, NEON), by GCC's vector extension. Wider
// vectors than a register's would be legal everywhere, and GCC would keep them in memory: cross-entropy
// takes ten times as long that way.
//
// Every instruction set gives the same bits (tensor/numerics.md): sums run over 64 bytes of lanes, in one or
// more registers (Sum), and an expression is rounded as it is written, a fused multiply-add where
// the source calls multiply_add.
//
// Kernel files include nothing that defines inline functions of its own (no tensor.hpp, no
// <algorithm>): the linker keeps one copy of an inline function, and it could be the one that was
// compiled for AVX-512. Everything here is in a namespace named after the instruction set.
#pragma once

#include <cstdint>
#if defined(__SSE2__) && !defined(__AVX2__)
#include <emmintrin.h>
#endif

#include "tensor/portable_angles.hpp"

namespace glim::GLIM_ISA {

using Index = std::int64_t;

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
template <class T>
inline constexpr Index kLanes = kVectorBytes / static_cast<Index>(sizeof(T));
inline constexpr int kParts = 64 / kVectorBytes;  // registers of 64 bytes

template <class T>
struct Simd;
template <>
struct Simd<float> {
  typedef float V __attribute__((vector_size(kVectorBytes)));
  typedef std::int32_t I __attribute__((vector_size(kVectorBytes)));
  typedef signed char Bytes __attribute__((vector_size(kVectorBytes / 4)));  // one a lane
};
template <>
struct Simd<double> {
  typedef double V __attribute__((vector_size(kVectorBytes)));
  typedef std::int64_t I __attribute__((vector_size(kVectorBytes)));
  typedef signed char Bytes __attribute__((vector_size(kVectorBytes / 8)));
};
template <class T>
using Vec = typename Simd<T>::V;
template <class T>
using IntVec = typename Simd<T>::I;

template <class T>
GLIM_INLINE Vec<T> splat(T c) {
  return c - Vec<T>{};  // c - 0 is c, whatever its sign
}
template <class T>
GLIM_INLINE Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, kVectorBytes);
  return v;
}
template <class T>
GLIM_INLINE void store(T* p, Vec<T> v) {
  __builtin_memcpy(p, &v, kVectorBytes);
}

#if defined(__AVX2__) && !defined(__AVX512F__)
// All bits of the first n lanes.
template <class T>
GLIM_INLINE __m256i first_lanes(Index n) {
  if constexpr (sizeof(T) == 4)
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  else
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
#endif

// The first n lanes from memory, n < kLanes; `fill` in the others.
template <class T>
GLIM_INLINE Vec<T> load_part(const T* p, Index n, T fill) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return (Vec<T>)_mm512_mask_loadu_ps((__m512)splat<T>(fill),
                                        static_cast<__mmask16>((1u << n) - 1), p);
  else
    return (Vec<T>)_mm512_mask_loadu_pd((__m512d)splat<T>(fill),
                                        static_cast<__mmask8>((1u << n) - 1), p);
#elif defined(__AVX2__)
  __m256i mask = first_lanes<T>(n);
  __m256 part = _mm256_maskload_ps((const float*)p, mask);
  return (Vec<T>)_mm256_blendv_ps((__m256)splat<T>(fill), part, (__m256)mask);
#else
  Vec<T> v = splat<T>(fill);
  for (Index i = 0; i < n; ++i) v[i] = p[i];
  return v;
#endif
}
template <class T>
GLIM_INLINE void store_part(T* p, Vec<T> v, Index n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), (__m512)v);
  else
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), (__m512d)v);
#elif defined(__AVX2__)
  _mm256_maskstore_ps((float*)p, first_lanes<T>(n), (__m256)v);
#else
  for (Index i = 0; i < n; ++i) p[i] = v[i];
#endif
}

// The vectors of a row of n elements, 64 bytes a step: f(i, part, whole) for the one from element i on, which
// is register `part` of its 64 bytes, and whole unless the row ends in it.
template <class T, class F>
GLIM_INLINE void each_part(Index n, const F& f) {
  constexpr Index L = kLanes<T>;
  Index i = 0;
  for (; i + kParts * L <= n; i += kParts * L) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) f(i + part * L, part, true);
  }
#pragma GCC unroll 4
  for (int part = 0; part < kParts; ++part)
    if (i + part * L < n) f(i + part * L, part, i + part * L + L <= n);
}
// The vectors with their elements: f(i, v, part), lanes past the end hold `fill`.
template <class T, class F>
GLIM_INLINE void each(const T* p, Index n, T fill, const F& f) {
  each_part<T>(
      n, [&](Index i, int part, bool whole) __attribute__((always_inline)) {
        f(i, whole ? load<T>(p + i) : load_part<T>(p + i, n - i, fill), part);
      });
}
// y[i..] = f(i, v) for a row; f's lanes past the end are dropped.
template <class T, class F>
GLIM_INLINE void each_to(T* y, const T* x, Index n, const F& f) {
  Index i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store<T>(y + i, f(i, load<T>(x + i)));
  if (i < n) store_part<T>(y + i, f(i, load_part<T>(x + i, n - i, T(0))), n - i);
}
// Elements i and following of a row of n: read, with zeros past the end, and written, up to the end.
template <class T>
GLIM_INLINE Vec<T> at(const T* p, Index i, Index n) {
  return i + kLanes<T> <= n ? load<T>(p + i) : load_part<T>(p + i, n - i, T(0));
}
template <class T>
GLIM_INLINE void put(T* p, Index i, Index n, Vec<T> v) {
  if (i + kLanes<T> <= n)
    store<T>(p + i, v);
  else
    store_part<T>(p + i, v, n - i);
}

template <class T>
GLIM_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {  // b where either is NaN
  return a > b ? a : b;
}

#if defined(__SSE2__) && !defined(__AVX2__)
// p + c rounded to odd: an inexact sum becomes the neighbour whose last bit is 1. Rounded to float afterwards, the sum
// is as if rounded once (Boldo & Melquiond 2008, "Emulation of FMA and correctly rounded sums").
GLIM_INLINE __m128d sum_to_odd(__m128d p, __m128d c) {
  __m128d s = p + c, t = s - p;
  __m128d error = (p - (s - t)) + (c - t);  // s + error = p + c (Knuth's two-sum)
  typedef long long Bits __attribute__((vector_size(16)));
  typedef unsigned long long Unsigned __attribute__((vector_size(16)));
  Bits bits = (Bits)s;
  Bits inexact = (Bits)_mm_or_pd(_mm_cmplt_pd(error, _mm_setzero_pd()),
                                 _mm_cmpgt_pd(error, _mm_setzero_pd()));  // not where one is NaN
  Bits even = (bits & 1) - 1;
  Bits inward = (Bits)((Unsigned)(bits ^ (Bits)error) >> 63);  // the error points to 0
  return (__m128d)(bits + ((1 - inward - inward) & even & inexact));
}
// A call: written out at each place it takes the compiler twice the time, and is no faster.
[[gnu::noinline]] static __m128 emulated_multiply_add(__m128 a, __m128 b, __m128 c) {
  auto pair = [](__m128 p, __m128 q, __m128 r) __attribute__((always_inline)) {
    return _mm_cvtpd_ps(sum_to_odd(_mm_cvtps_pd(p) * _mm_cvtps_pd(q), _mm_cvtps_pd(r)));
  };
  return _mm_movelh_ps(pair(a, b, c),
                       pair(_mm_movehl_ps(a, a), _mm_movehl_ps(b, b), _mm_movehl_ps(c, c)));
}
#endif

// a·b + c in one rounding: by an instruction, or else in some twenty. WebAssembly has no such instruction, and a
// page shall be quick: there it is rounded twice.
template <class T>
GLIM_INLINE Vec<T> multiply_add(Vec<T> a, Vec<T> b, Vec<T> c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return (Vec<T>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  else
    return (Vec<T>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return (Vec<T>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  else
    return (Vec<T>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__SSE2__)
  if constexpr (sizeof(T) == 4)
    return (Vec<T>)emulated_multiply_add((__m128)a, (__m128)b, (__m128)c);
  else
    return Vec<T>{__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
#elif defined(__wasm__)
  return a * b + c;
#else
  Vec<T> y;
  for (Index i = 0; i < kLanes<T>; ++i)
    if constexpr (sizeof(T) == 4)
      y[i] = __builtin_fmaf(a[i], b[i], c[i]);
    else
      y[i] = __builtin_fma(a[i], b[i], c[i]);
  return y;
#endif
}
template <class T>
GLIM_INLINE Vec<T> multiply_add(Vec<T> a, T b, Vec<T> c) {
  return multiply_add<T>(a, splat<T>(b), c);
}
template <class T>
GLIM_INLINE Vec<T> multiply_add(Vec<T> a, Vec<T> b, T c) {
  return multiply_add<T>(a, b, splat<T>(c));
}
template <class T>
GLIM_INLINE Vec<T> multiply_add(Vec<T> a, T b, T c) {
  return multiply_add<T>(a, splat<T>(b), splat<T>(c));
}

// Interleaves a and b: a[from], b[from], a[from + 1], b[from + 1] ...
template <int first, class V>
GLIM_INLINE V shuffled(V a, V b) {
  constexpr int L = sizeof(V) / sizeof(a[0]), p = first, q = first + L;
  if constexpr (L == 16)
    return __builtin_shufflevector(a, b, p, q, p + 1, q + 1, p + 2, q + 2, p + 3, q + 3, p + 4,
                                   q + 4, p + 5, q + 5, p + 6, q + 6, p + 7, q + 7);
  else if constexpr (L == 8)
    return __builtin_shufflevector(a, b, p, q, p + 1, q + 1, p + 2, q + 2, p + 3, q + 3);
  else if constexpr (L == 4)
    return __builtin_shufflevector(a, b, p, q, p + 1, q + 1);
  else
    return __builtin_shufflevector(a, b, p, q);
}

// Folds one half of the lanes onto the other until one lane is left. This happens in registers: through
// memory each fold would wait for the store before it.
template <class V, class F>
GLIM_INLINE auto fold_lanes(V v, const F& f) {
  constexpr int L = sizeof(V) / sizeof(v[0]);
  if constexpr (L == 16) {
    return fold_lanes(f(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                        __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)),
                      f);
  } else if constexpr (L == 8) {
    return fold_lanes(
        f(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7)), f);
  } else {
    if constexpr (L == 4) v = f(v, __builtin_shufflevector(v, v, 2, 3, 2, 3));
    return f(v[0], v[1]);
  }
}
template <class T>
GLIM_INLINE T sum_lanes(Vec<T> v) {
  return fold_lanes(
      v, [](auto a, auto b) __attribute__((always_inline)) { return a + b; });
}
// 64 bytes of sums, lane j of them over elements j, j + 64/sizeof(T), and so on. They are folded in one
// tree: lane j with the lane half of all further, until one is left.
template <class T>
struct Sum {
  Vec<T> part[kParts] = {};
};
template <class T>
GLIM_INLINE T sum_lanes(Sum<T> sum) {
#pragma GCC unroll 4
  for (int half = kParts / 2; half > 0; half /= 2)
#pragma GCC unroll 4
    for (int i = 0; i < half; ++i) sum.part[i] += sum.part[i + half];
  return sum_lanes<T>(sum.part[0]);
}
template <class T>
GLIM_INLINE T max_lanes(Vec<T> v) {  // the right one where either is NaN
  return fold_lanes(
      v, [](auto a, auto b) __attribute__((always_inline)) { return a > b ? a : b; });
}

//   e^x = 2^n e^r,  n = round(x/ln 2),  r = x - n ln 2 in [-ln2/2, ln2/2]
//
// e^r by the polynomial of Cephes (Moshier); n is in the low bits of `shifted`.
struct ReducedExp {
  Vec<float> e, shifted;
};
GLIM_INLINE ReducedExp reduced_exp(Vec<float> x) {
  constexpr float kRound = 12582912.0f;  // 1.5·2^23: adding it rounds to an integer
  Vec<float> shifted = multiply_add<float>(x, 1.44269504f, kRound);
  Vec<float> n = shifted - kRound;
  Vec<float> r = multiply_add<float>(n, -0.693359375f, x);
  r = multiply_add<float>(n, 2.12194440e-4f, r);
  Vec<float> p = multiply_add<float>(r, 1.9875691500e-4f, 1.3981999507e-3f);
  p = multiply_add<float>(p, r, 8.3334519073e-3f);
  p = multiply_add<float>(p, r, 4.1665795894e-2f);
  p = multiply_add<float>(p, r, 1.6666665459e-1f);
  p = multiply_add<float>(p, r, 5.0000001201e-1f);
  return {multiply_add<float>(p, r * r, r) + 1.0f, shifted};
}

// float: error below 2 units in the last place for x in [-87.3, 88.3]; below, 0 (no subnormal results); NaN
// stays NaN. double: the formula of portable::exp.
template <class T, class V>
GLIM_INLINE V exp(V x) {
  if constexpr (sizeof(T) == 4) {
    constexpr float kLowest = -87.33654f;  // ln of the smallest normal number
    IntVec<T> under = x < kLowest;
    auto [e, shifted] = reduced_exp(under ? splat<T>(kLowest) : x);
    IntVec<T> bits = ((IntVec<T>)shifted << 23) + (127 << 23);  // the exponent field begins there
    Vec<T> y = e * (Vec<T>)bits;
    return under ? Vec<T>{} : y;
  } else {
    return portable::exp<V>(x);
  }
}

}  // namespace glim::GLIM_ISA
