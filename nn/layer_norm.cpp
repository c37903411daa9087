#include "nn/layer_norm.hpp"

namespace glim {

LayerNorm::LayerNorm(Index d, double eps, bool affine, bool with_bias)
    : weight(affine ? parameter("weight", ones({d})) : Var()),
      bias(affine && with_bias ? parameter("bias", zeros({d})) : Var()),
      d_(d),
      eps_(eps) {
  if (d < 1) throw ValueError("layer_norm", "needs a width of 1 at least");
}

Var LayerNorm::forward(const Var& x) {
  Scope scope = enter();
  if (x.rank() < 1 || x.size(-1) != d_)
    throw with_operands(ShapeError("layer_norm", "x must have " + std::to_string(d_) + " columns"),
                        Operand("x", x.value()));
  return layer_norm(x, weight, bias, eps_);
}

}  // namespace glim
