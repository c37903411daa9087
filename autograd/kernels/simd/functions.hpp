// Gradients of functions of each element (autograd/ops/functions.cpp), in vectors.
#pragma once

#include "tensor/simd/functions.hpp"

namespace glim::GLIM_ISA {

template <class T>
void function_grad(ElementFunction f, Index n, const T* kept, const T* dy, T* dx) {
  auto run = [&](auto&& slope) {
    each_to<T>(dx, kept, n, [&](Index i, Vec<T> v) { return at<T>(dy, i, n) * slope(v); });
  };
  switch (f) {
    case ElementFunction::Tanh:
      return run([](Vec<T> y) { return T(1) - y * y; });
    case ElementFunction::Sigmoid:
      return run([](Vec<T> y) { return y * (T(1) - y); });
    case ElementFunction::Silu:
      return run([](Vec<T> x) {
        Vec<T> s = sigmoid<T>(x);
        return s * (T(1) + x * (T(1) - s));
      });
    case ElementFunction::GeluErf:
      return run([](Vec<T> x) {
        Vec<T> e = exp_wide(T(-0.5) * x * x);  // of the density, and of erf at x/√2
        Vec<T> cdf = T(0.5) * (T(1) + erf_wide(x * kRootHalf<T>, e));
        return multiply_add<T>(x * e, static_cast<T>(0.39894228040143267794), cdf);
      });
    case ElementFunction::GeluTanh:
      return run([](Vec<T> x) {
        Vec<T> t = tanh<T>(kRootTwoOverPi<T> * multiply_add<T>(kGeluCubic<T> * x * x, x, x));
        Vec<T> du = kRootTwoOverPi<T> * multiply_add<T>(T(3) * kGeluCubic<T> * x, x, T(1));
        return multiply_add<T>(T(0.5) * x * (T(1) - t * t), du, T(0.5) * (T(1) + t));
      });
    case ElementFunction::Exp:
    case ElementFunction::Erf:
      __builtin_unreachable();  // their gradients are products of other functions
  }
}

template <class T>
void relu_grad(Index n, const T* y, const T* dy, T scale, T* dx) {
  each_to<T>(dx, y, n,
             [&](Index i, Vec<T> v) { return v == 0 ? Vec<T>{} : at<T>(dy, i, n) * scale; });
}

}  // namespace glim::GLIM_ISA
