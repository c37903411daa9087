// RMS norm by rows (autograd/ops/rms_norm.cpp), as layer norm's kernel: each row's 1/ρ is kept.
#pragma once

#include "tensor/tensor.hpp"

namespace glim::kernels {

struct RmsNorm {
  Tensor forward(const Tensor& x, const Tensor& gamma, double eps) const;
  struct Gradients {
    Tensor x, gamma;  // undefined where not wanted
  };
  Gradients backward(const Tensor& x, const Tensor& gamma, const Tensor& dy, bool want_x,
                     bool want_gamma) const;

  mutable Tensor inverse_root;  // (rows), of the last forward
};

}  // namespace glim::kernels
