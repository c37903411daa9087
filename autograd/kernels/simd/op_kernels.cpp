// Compiled once for each instruction set, with GLIM_ISA naming it (meson.build).
#include "autograd/kernels/simd/op_kernels.hpp"

#include "autograd/kernels/simd/cross_entropy.hpp"
#include "autograd/kernels/simd/dropout.hpp"
#include "autograd/kernels/simd/functions.hpp"
#include "autograd/kernels/simd/norms.hpp"
#include "autograd/kernels/simd/recurrent_cells.hpp"
#include "autograd/kernels/simd/softmax.hpp"
#include "autograd/kernels/simd/sum_rows.hpp"
#include "tensor/simd/dispatch.hpp"

namespace glim::GLIM_ISA {

template <class T>
constexpr OpKernels<T> kOpKernels{
    .function_grad = function_grad<T>,
    .relu_grad = relu_grad<T>,
    .sum_rows = sum_rows<T>,
    .softmax = softmax<T>,
    .softmax_grad = softmax_grad<T>,
    .draw_mask = draw_mask<T>,
    .apply_mask = apply_mask<T>,
    .layer_norm = layer_norm<T>,
    .layer_norm_grad = layer_norm_grad<T>,
    .rms_norm = rms_norm<T>,
    .rms_norm_grad = rms_norm_grad<T>,
    .cross_entropy = cross_entropy<T>,
    .cross_entropy_grad = cross_entropy_grad<T>,
    .gru = gru<T>,
    .gru_grad = gru_grad<T>,
    .lstm = lstm<T>,
    .lstm_grad = lstm_grad<T>,
    .additive_scores = additive_scores<T>,
    .additive_scores_grad = additive_scores_grad<T>,
};

}  // namespace glim::GLIM_ISA

GLIM_KERNELS(OpKernels, op_kernels, kOpKernels)
