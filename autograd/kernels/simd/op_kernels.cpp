// Compiled once for each instruction set, with GLIM_ISA naming it (meson.build).
#include "autograd/kernels/simd/op_kernels.hpp"

#include "autograd/kernels/simd/cross_entropy.hpp"
#include "autograd/kernels/simd/dropout.hpp"
#include "autograd/kernels/simd/functions.hpp"
#include "autograd/kernels/simd/norms.hpp"
#include "autograd/kernels/simd/recurrent_cells.hpp"
#include "autograd/kernels/simd/softmax.hpp"
#include "autograd/kernels/simd/sum_rows.hpp"

GLIM_EXPORT(function_grad)
GLIM_EXPORT(relu_grad)
GLIM_EXPORT(sum_rows)
GLIM_EXPORT(softmax)
GLIM_EXPORT(softmax_grad)
GLIM_EXPORT(draw_mask)
GLIM_EXPORT(apply_mask)
GLIM_EXPORT(norm_rows)
GLIM_EXPORT(norm_rows_grad)
GLIM_EXPORT(cross_entropy)
GLIM_EXPORT(cross_entropy_grad)
GLIM_EXPORT(gru)
GLIM_EXPORT(gru_grad)
GLIM_EXPORT(lstm)
GLIM_EXPORT(lstm_grad)
GLIM_EXPORT(additive_scores)
GLIM_EXPORT(additive_scores_grad)
