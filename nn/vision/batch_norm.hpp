// BatchNorm: every channel normalised over the batch (Ioffe & Szegedy 2015, algorithms 1 and 2)
//
//   y = γ (x - μ)/σ + β, σ = √(var + ε)      x, y: (B, C, ...)   γ, β, μ, var: (C,)
//
// In training μ and var are the mean and population variance over all axes but C. Gradients flow
// through them: they are layer norm's (autograd/ops/layer_norm.cpp), over these axes. The running
// statistics follow: r ← (1 - momentum) r + momentum (μ or unbiased variance).
// In eval the running statistics take the place of μ and var. So an element depends on its whole
// batch in training; with LayerNorm it depends on its own position alone, in training and after.
//
// Parameters and buffers are named as torch.nn.BatchNorm1d's.
//
// Errors: ShapeError unless x is (B, C, ...); ValueError in training with one value per channel.
#pragma once

#include "nn/module.hpp"

namespace glim {

class BatchNorm : public Layer {
 public:
  explicit BatchNorm(Index channels, double eps = 1e-5, double momentum = 0.1, bool affine = true);

  Param weight, bias;
  Buffer running_mean, running_var;
  Buffer num_batches_tracked;  // int64

 private:
  Var forward(const Var& x) override;
  Index channels_;
  double eps_, momentum_;
};

}  // namespace glim
