// Functions of each element, in vectors.
//
// float: after the Cephes library (Moshier 1989): exp, tanh, sigmoid and erf are within 4
// units in the last place of the exact value (tests/tensor/simd/kernels_functions.cpp measures it), with
// the limits at ±∞, NaN for NaN, subnormal results kept. double: the formulas of
// tensor/portable_formulas.hpp.
//
//   sigmoid x = 1/(1 + e^-x)      gelu x = x Φ(x)      silu x = x sigmoid(x)
#pragma once

#include "tensor/simd/gates.hpp"
#include "tensor/simd/kernels.hpp"
#include "tensor/simd/pack.hpp"
#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

// e^x over the whole range: 2^n by an instruction, or else in two factors, for n from -150 to 128.
GLIM_INLINE Vec<float> exp_wide(Vec<float> x) {
  Vec<float> t = x < -104.0f ? splat(-104.0f) : x;
  auto [e, shifted] = reduced_exp(t > 89.0f ? splat(89.0f) : t);
#if defined(__AVX512F__)
  return (Vec<float>)_mm512_maskz_scalef_ps(0xFFFF, (__m512)e, (__m512)(shifted - 12582912.0f));
#else
  IntVec<float> whole = (IntVec<float>)shifted - 0x4B400000;  // n
  IntVec<float> half = whole >> 1;
  Vec<float> first = (Vec<float>)((half + 127) << 23);
  Vec<float> second = (Vec<float>)((whole - half + 127) << 23);
  return e * first * second;
#endif
}

// `e` is e^{-x²}.
GLIM_INLINE Vec<float> erf_wide(Vec<float> x, Vec<float> e) {
  Vec<float> a = magnitude<float>(x), z = x * x;
  Vec<float> p = multiply_add<float>(z, 7.853861353153693e-5f, -8.010193625184903e-4f);
  p = multiply_add<float>(p, z, 5.188327685732524e-3f);
  p = multiply_add<float>(p, z, -2.685381193529856e-2f);
  p = multiply_add<float>(p, z, 1.128358514861418e-1f);
  p = multiply_add<float>(p, z, -3.761262582423300e-1f);
  p = multiply_add<float>(p, z, 1.128379165726710e+0f);
  Vec<float> small = x * p;
  // Beyond 1: 1 - e^{-x²} q P(q²), q = 1/|x|.
  Vec<float> q = 1.0f / a, y = q * q;
  Vec<float> near = multiply_add<float>(y, 2.326819970068386e-2f, -1.387039388740657e-1f);
  near = multiply_add<float>(near, y, 3.687424674597105e-1f);
  near = multiply_add<float>(near, y, -5.824733027278666e-1f);
  near = multiply_add<float>(near, y, 6.210004621745983e-1f);
  near = multiply_add<float>(near, y, -4.944515323274145e-1f);
  near = multiply_add<float>(near, y, 3.404879937665872e-1f);
  near = multiply_add<float>(near, y, -2.741127028184656e-1f);
  near = multiply_add<float>(near, y, 5.638259427386472e-1f);
  Vec<float> far = multiply_add<float>(y, -1.047766399936249e+1f, 1.297719955372516e+1f);
  far = multiply_add<float>(far, y, -7.495518717768503e+0f);
  far = multiply_add<float>(far, y, 2.921019019210786e+0f);
  far = multiply_add<float>(far, y, -1.015265279202700e+0f);
  far = multiply_add<float>(far, y, 4.218463358204948e-1f);
  far = multiply_add<float>(far, y, -2.820767439740514e-1f);
  far = multiply_add<float>(far, y, 5.641895067754075e-1f);
  Vec<float> large = multiply_add<float>(-e * q, a < 2.0f ? near : far, 1.0f);
  large = x < 0.0f ? -large : large;
  return a < 1.0f ? small : (x == x ? large : x);
}
GLIM_INLINE Vec<float> erf_wide(Vec<float> x) { return erf_wide(x, exp_wide(-x * x)); }

template <class V>
GLIM_INLINE V exp_wide(V x) {
  return exp<double>(x);
}

// As many vectors of float64 in step as the registers hold.
#if defined(__AVX512F__)
inline constexpr int kVectors = 4;
#else
inline constexpr int kVectors = 2;
#endif
using Doubles = portable::Pack<Vec<double>, kVectors>;

// Formulas of float64: of a pack, and of one vector as a call, which keeps the ends of rows short.
#define GLIM_FORMULA(name)                                                              \
  GLIM_INLINE Doubles name##_of_float64(const Doubles& x) { return portable::name(x); } \
  [[gnu::noinline]] static Vec<double> name##_of_float64(Vec<double> x) {               \
    return portable::name(x);                                                           \
  }
GLIM_FORMULA(erf)
GLIM_FLOAT64_FUNCTIONS(GLIM_FORMULA)
#undef GLIM_FORMULA
[[gnu::noinline]] static Vec<double> pow_of_float64(Vec<double> x, Vec<double> y) {
  return portable::pow(x, y);
}
template <class V>
GLIM_INLINE V erf_wide(V x) {
  return erf_of_float64(x);
}
GLIM_INLINE Vec<double> erf_wide(Vec<double> x, Vec<double>) { return erf_of_float64(x); }

// y[i] = f(x[i]...) by a formula of float64. Lanes past the end of a row hold 1, where no formula is slow.
template <class T>
GLIM_INLINE Vec<double> widened(const T* p, Index left) {
  constexpr Index L = kLanes<double>;
  if constexpr (sizeof(T) == 8) {
    return left >= L ? load<T>(p) : load_part<T>(p, left, 1);
  } else {
    typedef T Part __attribute__((vector_size(L * sizeof(T))));
    T row[L];
    if (left < L) {
      for (Index i = 0; i < L; ++i) row[i] = i < left ? p[i] : T(1);
      p = row;
    }
    Part v;
    __builtin_memcpy(&v, p, sizeof v);
#if defined(__AVX512F__)
    return (Vec<double>)_mm512_cvtps_pd((__m256)v);  // g++ takes four
#else
    return __builtin_convertvector(v, Vec<double>);
#endif
  }
}
template <class T>
GLIM_INLINE void narrow(T* p, Index left, Vec<double> x) {
  if constexpr (sizeof(T) == 8) {
    put<T>(p, 0, left, x);
  } else {
    typedef T Part __attribute__((vector_size(kLanes<double> * sizeof(T))));
    Part v = __builtin_convertvector(x, Part);
    if (left >= kLanes<double>)
      __builtin_memcpy(p, &v, sizeof v);
    else
      for (Index i = 0; i < left; ++i) p[i] = v[i];
  }
}
template <class T, class F>
GLIM_INLINE void by_float64(Index n, T* y, const F& f, const T* x) {
  constexpr Index L = kLanes<double>;
  Index i = 0;
  for (; i + kVectors * L <= n; i += kVectors * L) {
    Doubles v;
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) v.part[k] = widened(x + i + k * L, L);
    v = f(v);
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) narrow(y + i + k * L, L, v.part[k]);
  }
  for (; i < n; i += L) narrow(y + i, n - i, f(widened(x + i, n - i)));
}

// The largest element; NaN counts for nothing.
template <class T>
T largest(Index n, const T* x) {
  Vec<T> top[4];
  for (Vec<T>& t : top) t = splat<T>(-static_cast<T>(__builtin_inf()));
  Index i = 0;
  for (; i + 4 * kLanes<T> <= n; i += 4 * kLanes<T>)
    for (Index k = 0; k < 4; ++k) top[k] = larger<T>(load<T>(x + i + k * kLanes<T>), top[k]);
  each<T>(x + i, n - i, -static_cast<T>(__builtin_inf()),
          [&](Index, Vec<T> v, int) { top[0] = larger<T>(v, top[0]); });
  return max_lanes<T>(larger<T>(larger<T>(top[0], top[1]), larger<T>(top[2], top[3])));
}

// Σ e^{x - m}; e^{x - m} is left in y unless that is null.
template <class T>
T sum_of_exponentials(Index n, T m, const T* x, T* y) {
  Sum<T> total;
  each<T>(x, n, -static_cast<T>(__builtin_inf()), [&](Index i, Vec<T> v, int part) {
    Vec<T> e = exp<T>(v - m);
    total.part[part] += e;
    if (y) put<T>(y, i, n, e);
  });
  return sum_lanes<T>(total);
}

template <class T>
inline constexpr T kRootHalf = static_cast<T>(0.70710678118654752440);
template <class T>
inline constexpr T kRootTwoOverPi = static_cast<T>(0.79788456080286535588);
template <class T>
inline constexpr T kGeluCubic = static_cast<T>(0.044715);

template <class T>
GLIM_INLINE Vec<T> silu_slope(Vec<T> x) {
  Vec<T> s = sigmoid<T>(x);
  return s * (T(1) + x * (T(1) - s));
}
template <class T>
GLIM_INLINE Vec<T> gelu_erf_slope(Vec<T> x) {
  Vec<T> e = exp_wide(T(-0.5) * x * x);  // for the density, and for erf at x/√2
  Vec<T> cdf = T(0.5) * (T(1) + erf_wide(x * kRootHalf<T>, e));
  return multiply_add<T>(x * e, static_cast<T>(0.39894228040143267794), cdf);
}
template <class T>
GLIM_INLINE Doubles multiply_add(Doubles x, Doubles y, Doubles z) {
  return portable::by_parts(GLIM_LAMBDA(multiply_add<T>(a, b, c), auto a, auto b, auto c), x, y, z);
}
template <class T, class V>
GLIM_INLINE V gelu_argument(V x) {
  return kRootTwoOverPi<T> * multiply_add<T>(kGeluCubic<T> * x * x, x, x);
}
template <class T>
GLIM_INLINE Vec<T> gelu_tanh_slope(Vec<T> x) {
  Vec<T> t = tanh<T>(gelu_argument<T>(x));
  Vec<T> du = kRootTwoOverPi<T> * multiply_add<T>(T(3) * kGeluCubic<T> * x, x, T(1));
  return multiply_add<T>(T(0.5) * x * (T(1) - t * t), du, T(0.5) * (T(1) + t));
}

// y[i] = f(x[i]). The loads of four vectors precede the stores, which could change what they read.
template <class F>
GLIM_INLINE void by_vectors(Index n, float* y, const F& f, const float* x) {
  constexpr Index L = kLanes<float>;
  Index i = 0;
  for (; i + 4 * L <= n; i += 4 * L) {
    Vec<float> v[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) v[k] = f(load<float>(x + i + k * L));
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) store<float>(y + i + k * L, v[k]);
  }
  each_to<float>(y + i, x + i, n - i, [&](Index, Vec<float> v) { return f(v); });
}
template <class F>
GLIM_INLINE void by_vectors(Index n, double* y, const F& f, const double* x) {
  by_float64(n, y, f, x);
}

template <class T>
void function(ElementFunction f, Index n, const T* in, T* out) {
  switch (f) {
#define GLIM_CASE(name, value, ...) \
  case ElementFunction::name:       \
    return by_vectors(n, out, GLIM_LAMBDA(value, auto x), in);
    GLIM_ELEMENT_FUNCTIONS(GLIM_CASE)
#undef GLIM_CASE
#define GLIM_CASE(name)       \
  case ElementFunction::name: \
    return by_float64(n, out, GLIM_LAMBDA(name##_of_float64(x), auto x), in);
    GLIM_FLOAT64_FUNCTIONS(GLIM_CASE)
#undef GLIM_CASE
  }
}

template <class T>
void power(Index n, const T* x, const T* exponents, T* y) {
  for (Index i = 0; i < n; i += kLanes<double>)
    narrow(y + i, n - i, pow_of_float64(widened(x + i, n - i), widened(exponents + i, n - i)));
}

}  // namespace glim::GLIM_ISA
