// Sigmoid and tanh of a vector.
//
//   sigmoid(x) = 1/(1 + e^-|x|) for x ≥ 0, e^-|x|/(1 + e^-|x|) below: no exponential overflows
//   tanh(x) = ±(1 - e^-2|x|)/(1 + e^-2|x|); float near 0, where that cancels, by the polynomial of
//   Cephes (Moshier), |x| < 0.625. double: the formula of portable::tanh.
#pragma once

#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

template <class T>
GLIM_INLINE Vec<T> magnitude(Vec<T> x) {
  return (Vec<T>)((IntVec<T>)x & ~(IntVec<T>)splat<T>(T(-0.0)));
}

template <class T, class V>
GLIM_INLINE V sigmoid(V x) {
  if constexpr (sizeof(T) == 4) {
    Vec<T> e = exp<T>(-magnitude<T>(x));
    Vec<T> s = T(1) / (e + T(1));
    return x >= T(0) ? s : e * s;
  } else {
    return portable::sigmoid<V>(x);
  }
}

template <class T, class V>
GLIM_INLINE V tanh(V x) {
  if constexpr (sizeof(T) == 4) {
    Vec<T> size = magnitude<T>(x);
    Vec<T> e = exp<T>(size * T(-2));
    Vec<T> far = (T(1) - e) / (e + T(1));
    Vec<T> z = x * x;
    Vec<T> p = multiply_add<T>(z, -5.70498872745e-3f, 2.06390887954e-2f);
    p = multiply_add<T>(p, z, -5.37397155531e-2f);
    p = multiply_add<T>(p, z, 1.33314422036e-1f);
    p = multiply_add<T>(p, z, -3.33332819422e-1f);
    Vec<T> near = multiply_add<T>(p * z, x, x);
    IntVec<T> sign = (IntVec<T>)x & (IntVec<T>)splat<T>(T(-0.0));
    return size < 0.625f ? near : (Vec<T>)((IntVec<T>)far ^ sign);
  } else {
    return portable::tanh<V>(x);
  }
}

}  // namespace glim::GLIM_ISA
