// Gradients of functions of each element (autograd/ops/functions.cpp), in vectors.
#pragma once

#include "tensor/simd/functions.hpp"

namespace glim::GLIM_ISA {

template <class T>
void function_grad(ElementFunction f, Index n, const T* kept, const T* dy, T* dx) {
  switch (f) {
#define GLIM_CASE(name, value, read, slope) \
  case ElementFunction::name:               \
    return each_to<T>(dx, kept, n, [&](Index i, Vec<T> read) { return at<T>(dy, i, n) * (slope); });
    GLIM_ELEMENT_FUNCTIONS(GLIM_CASE)
#undef GLIM_CASE
    default:
      return;
  }
}

template <class T>
void relu_grad(Index n, const T* y, const T* dy, T scale, T* dx) {
  each_to<T>(dx, y, n,
             [&](Index i, Vec<T> v) { return v == 0 ? Vec<T>{} : at<T>(dy, i, n) * scale; });
}

}  // namespace glim::GLIM_ISA
