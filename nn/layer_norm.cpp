#include "nn/layer_norm.hpp"

namespace glim {

LayerNorm::LayerNorm(const Shape& shape, double eps, bool affine, bool with_bias)
    : GLIM_NAMED(weight, affine ? ones(shape) : Tensor()),
      GLIM_NAMED(bias, affine && with_bias ? zeros(shape) : Tensor()),
      shape_(shape),
      eps_(eps) {
  if (shape.empty() || numel_of(shape) < 1)
    throw ValueError("layer_norm", "the width must be at least 1");
}

Var LayerNorm::forward(const Var& x) { return layer_norm(x, shape_, weight, bias, eps_); }

}  // namespace glim
