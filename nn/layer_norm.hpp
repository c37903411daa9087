// LayerNorm over the last axis, or the last axes (Ba et al. 2016, equation 4): autograd/ops/layer_norm.cpp
//
//   y = γ ⊙ (x - μ)/σ + β     μ = mean x, σ = √(mean (x - μ)² + ε), over the last axis
//
//   x, y: (..., shape)   weight γ, at first 1, and bias β, at first 0: shape, which is (D,) for the last axis
//
// ShapeError where x does not end in shape; ValueError for a width of 0, and at the first call for ε below 0.
#pragma once

#include "nn/module.hpp"

namespace glim {

class LayerNorm : public Layer {
 public:
  // affine: with γ; with_bias: with β, which needs γ.
  explicit LayerNorm(Index d, double eps = 1e-5, bool affine = true, bool with_bias = true)
      : LayerNorm(Shape{d}, eps, affine, with_bias) {}
  explicit LayerNorm(const Shape& shape, double eps = 1e-5, bool affine = true,
                     bool with_bias = true);

  Param weight, bias;

 private:
  Var forward(const Var& x) override;
  Shape shape_;
  double eps_;
};

}  // namespace glim
