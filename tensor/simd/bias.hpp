// What a linear layer adds to its product: a bias, and max(0, ·).
#pragma once

#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

template <class T>
void add_bias(Index rows, Index n, const T* bias, bool relu, T* y, Index ld) {
  for (Index r = 0; r < rows; ++r, y += ld)
    each_to<T>(y, y, n, [&](Index i, Vec<T> v) {
      if (bias) v += at<T>(bias, i, n);
      if (relu) v = v < 0 ? Vec<T>{} : v;  // NaN stays
      return v;
    });
}

}  // namespace glim::GLIM_ISA
