#include "nn/rms_norm.hpp"

#include <limits>

namespace glim {

RMSNorm::RMSNorm(const Shape& shape, std::optional<double> eps, bool affine)
    : GLIM_NAMED(weight, affine ? ones(shape) : Tensor()), shape_(shape), eps_(eps) {
  if (shape.empty() || numel_of(shape) < 1)
    throw ValueError("rms_norm", "the width must be at least 1");
}

Var RMSNorm::forward(const Var& x) {
  double spacing = x.dtype() == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                               : std::numeric_limits<float>::epsilon();
  return rms_norm(x, shape_, weight, eps_.value_or(spacing));
}

}  // namespace glim
