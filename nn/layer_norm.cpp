#include "nn/layer_norm.hpp"

namespace glim {

LayerNorm::LayerNorm(Index d, double eps, bool affine, bool with_bias)
    : GLIM_NAMED(weight, affine ? ones({d}) : Tensor()),
      GLIM_NAMED(bias, affine && with_bias ? zeros({d}) : Tensor()),
      d_(d),
      eps_(eps) {
  if (d < 1) throw ValueError("layer_norm", "the width must be at least 1");
}

Var LayerNorm::forward(const Var& x) {
  if (x.rank() < 1 || x.size(-1) != d_)
    throw ShapeError("layer_norm", "x must have " + std::to_string(d_) + " columns", {{"x", x}});
  return layer_norm(x, weight, bias, eps_);
}

}  // namespace glim
