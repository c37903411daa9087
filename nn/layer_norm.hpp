// LayerNorm over the last axis (Ba et al. 2016, equation 4): autograd/ops/layer_norm.cpp
//
//   x, y: (..., D)   weight γ: (D,), at first 1   bias β: (D,), at first 0
//
// ShapeError where x has another number of columns.
#pragma once

#include "nn/module.hpp"

namespace glim {

class LayerNorm : public Layer {
 public:
  // affine: with γ; with_bias: with β, which needs γ.
  explicit LayerNorm(Index d, double eps = 1e-5, bool affine = true, bool with_bias = true);

  Param weight, bias;

 private:
  Var forward(const Var& x) override;
  Index d_;
  double eps_;
};

}  // namespace glim
