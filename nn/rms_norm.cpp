#include "nn/rms_norm.hpp"

#include <limits>

namespace glim {

RMSNorm::RMSNorm(Index d, std::optional<double> eps, bool affine)
    : weight(affine ? parameter("weight", ones({d})) : Var()), d_(d), eps_(eps) {
  if (d < 1) throw ValueError("rms_norm", "needs a width of 1 at least");
}

Var RMSNorm::forward(const Var& x) {
  Scope scope = enter();
  if (x.rank() < 1 || x.size(-1) != d_)
    throw with_operands(ShapeError("rms_norm", "x must have " + std::to_string(d_) + " columns"),
                        Operand("x", x.value()));
  double spacing = x.dtype() == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                               : std::numeric_limits<float>::epsilon();
  return rms_norm(x, weight, eps_.value_or(spacing));
}

}  // namespace glim
