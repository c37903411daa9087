// Kernels of linear, linear_relu, relu, dropout, softmax and rotate_pairs: single passes over rows.
#pragma once

#include "tensor/random.hpp"
#include "tensor/tensor.hpp"

namespace glim::kernels {

// Σ over the rows of (..., O), in pieces of rows that depend on the extents alone.
Tensor sum_of_rows(const Tensor& dy);
// y > 0 ? scale·dy : 0, into dx, which may be y.
void relu_grad_into(const Tensor& dx, const Tensor& y, const Tensor& dy, double scale);
Tensor relu_grad(const Tensor& y, const Tensor& dy, double scale);
// addend + dropout(x), or dropout(x) where addend is undefined; p in (0, 1).
Tensor dropout(const Tensor& x, const Tensor& addend, double p, RandomKey key);
// y (dy - Σ dy y) over the last axis.
Tensor softmax_grad(const Tensor& y, const Tensor& dy);
// x (..., T, D), cos and sin (T, D/2).
Tensor rotate_pairs(const Tensor& x, const Tensor& cos, const Tensor& sin);

}  // namespace glim::kernels
