// LayerNorm: y = (x - μ)/√(σ² + ε) γ + β over the last axis (Ba et al. 2016, equation 4)
//
//   x, y: (..., D)   weight γ: (D,), at first 1   bias β: (D,), at first 0
//   with x̂ = (x - μ)/√(σ² + ε) and dx̂ = γ dy:
//   dγ = Σ dy x̂      dβ = Σ dy      dx = (dx̂ - mean(dx̂) - x̂ mean(dx̂ x̂))/√(σ² + ε)
//
// ShapeError where x has another number of columns.
#pragma once

#include "nn/module.hpp"

namespace glim {

class LayerNorm final : public Layer {
 public:
  // affine: with γ; bias: with β, which needs γ.
  explicit LayerNorm(Index d, double eps = 1e-5, bool affine = true, bool bias = true);
  Var forward(const Var& x) override;
  double eps() const { return eps_; }

  Var weight, bias;  // undefined without

 private:
  Index d_;
  double eps_;
};

}  // namespace glim
