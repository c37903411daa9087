// Compiled once for each instruction set, with GLIM_ISA naming it (meson.build).
#include "tensor/simd/kernels.hpp"

#include "tensor/simd/dropout.hpp"
#include "tensor/simd/functions.hpp"
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

GLIM_EXPORT(function)
GLIM_EXPORT(power)
GLIM_EXPORT(largest)
GLIM_EXPORT(sum_of_exponentials)
GLIM_EXPORT(add_bias)
GLIM_EXPORT(dropout)
