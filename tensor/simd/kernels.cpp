// Compiled once for each instruction set, with GLIM_ISA naming it (meson.build).
#include "tensor/simd/kernels.hpp"

#include "tensor/matmul/packed.hpp"
#include "tensor/matmul/skinny.hpp"
#include "tensor/simd/bias.hpp"
#include "tensor/simd/dispatch.hpp"
#include "tensor/simd/dropout.hpp"
#include "tensor/simd/functions.hpp"

namespace glim::GLIM_ISA {

template <class T>
constexpr RowKernels<T> kRowKernels {
  .function = function<T>, .largest = largest<T>, .sum_of_exponentials = sum_of_exponentials<T>,
  .add_bias = add_bias<T>, .dropout = dropout<T>, .row_product = row_product<T>,
  .dots_product = dots_product<T>, .few_rows_product = few_rows_product<T>,
#if defined(__AVX512F__)
  .short_rows_product = short_rows_product<T>,
#else
  .short_rows_product = nullptr,
#endif
  .packed_product = packed_product<T>,
};

}  // namespace glim::GLIM_ISA

GLIM_KERNELS(RowKernels, row_kernels, kRowKernels)
