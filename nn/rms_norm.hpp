// RMSNorm: y = x/√(mean(x²) + ε) γ over the last axis (Zhang & Sennrich 2019, equation 4)
//
//   x, y: (..., D)   weight γ: (D,), at first 1
//   with ρ = √(mean(x²) + ε), x̂ = x/ρ and dx̂ = γ dy:
//   dγ = Σ dy x̂      dx = (dx̂ - x̂ mean(dx̂ x̂))/ρ
//
// Layer norm that only scales: y does not change when x is multiplied by a number, but does when a
// number is added. ε, unless given, is the distance from 1 to the next number of x's dtype, as in
// torch.nn.RMSNorm. ShapeError where x has another number of columns.
#pragma once

#include <optional>

#include "nn/module.hpp"

namespace glim {

class RMSNorm final : public Layer {
 public:
  explicit RMSNorm(Index d, std::optional<double> eps = std::nullopt, bool affine = true);
  Var forward(const Var& x) override;

  Var weight;  // undefined without affine

 private:
  Index d_;
  std::optional<double> eps_;
};

}  // namespace glim
