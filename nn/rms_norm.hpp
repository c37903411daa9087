// RMSNorm over the last axis, or the last axes (Zhang & Sennrich 2019, equation 4): autograd/ops/rms_norm.cpp
//
//   x, y: (..., shape)   weight γ: shape, at first 1; shape is (D,) for the last axis
//
// Layer norm that only scales: y does not change when x is multiplied by a number, but does when a
// number is added. ε, unless given, is the distance from 1 to the next number of x's dtype, as in
// torch.nn.RMSNorm. ShapeError where x does not end in shape.
#pragma once

#include <optional>

#include "nn/module.hpp"

namespace glim {

class RMSNorm : public Layer {
 public:
  explicit RMSNorm(Index d, std::optional<double> eps = std::nullopt, bool affine = true)
      : RMSNorm(Shape{d}, eps, affine) {}
  explicit RMSNorm(const Shape& shape, std::optional<double> eps = std::nullopt,
                   bool affine = true);

  Param weight;

 private:
  Var forward(const Var& x) override;
  Shape shape_;
  std::optional<double> eps_;
};

}  // namespace glim
