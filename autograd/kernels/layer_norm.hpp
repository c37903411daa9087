// Layer norm by rows (autograd/ops/layer_norm.cpp): one pass a row forward, one backward. x̂ never exists:
// each row's μ and 1/σ are kept, and x̂ is computed again. Sums over rows are taken in pieces of rows that
// depend on D alone, and added in order.
#pragma once

#include "tensor/tensor.hpp"

namespace glim::kernels {

struct LayerNorm {
  // gamma and beta (D,) or undefined.
  Tensor forward(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) const;
  struct Gradients {
    Tensor x, gamma, beta;  // undefined where not wanted
  };
  Gradients backward(const Tensor& x, const Tensor& gamma, const Tensor& dy, bool want_x,
                     bool want_gamma, bool want_beta) const;

  mutable Tensor mean, inverse_sigma;  // (rows), of the last forward
};

}  // namespace glim::kernels
