// Compiled once for each instruction set, with GLIM_ISA naming it (tensor/meson.build).
#include "tensor/simd/kernels.hpp"

#include "autograd/kernels/dropout.hpp"
#include "autograd/kernels/loss.hpp"
#include "autograd/kernels/norm.hpp"
#include "autograd/kernels/softmax.hpp"
#include "optim/kernels/adam.hpp"
#include "tensor/matmul/nonzeros_kernels.hpp"
#include "tensor/matmul/packed.hpp"
#include "tensor/matmul/skinny.hpp"
#include "tensor/simd/functions.hpp"

namespace glim::GLIM_ISA {

template <class T>
const RowKernels<T>& table() {
  static constexpr RowKernels<T> kernels = {
    cross_entropy<T>,
    cross_entropy_grad<T>,
    layer_norm<T>,
    layer_norm_grad<T>,
    rms_norm<T>,
    rms_norm_grad<T>,
    softmax<T>,
    softmax_grad<T>,
    dropout<T>,
    mark_dropped<T>,
    drop_marked<T>,
    add_bias<T>,
    relu_grad<T>,
    mark_nonzeros<T>,
    gather_nonzeros<T>,
    spread_nonzeros<T>,
    sum_rows<T>,
    function<T>,
    function_grad<T>,
    largest<T>,
    sum_of_exponentials<T>,
    few_rows_pay,
    few_rows_product<T>,
#if defined(__AVX512F__)
    short_rows_product<T>,
#else
    nullptr,
#endif
    row_product<T>,
#if defined(__AVX2__)
    packed_product<T>,
#else
    nullptr,
#endif
    adam<T>
  };
  return kernels;
}
template const RowKernels<float>& table<float>();
template const RowKernels<double>& table<double>();

}  // namespace glim::GLIM_ISA
