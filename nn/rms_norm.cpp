#include "nn/rms_norm.hpp"

#include <limits>

namespace glim {

RMSNorm::RMSNorm(Index d, std::optional<double> eps, bool affine)
    : GLIM_NAMED(weight, affine ? ones({d}) : Tensor()), d_(d), eps_(eps) {
  if (d < 1) throw ValueError("rms_norm", "the width must be at least 1");
}

Var RMSNorm::forward(const Var& x) {
  if (x.rank() < 1 || x.size(-1) != d_)
    throw ShapeError("rms_norm", "x must have " + std::to_string(d_) + " columns", {{"x", x}});
  double spacing = x.dtype() == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                               : std::numeric_limits<float>::epsilon();
  return rms_norm(x, weight, eps_.value_or(spacing));
}

}  // namespace glim
