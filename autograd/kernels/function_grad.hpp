// The gradient of a function of each element by its kernel (autograd/kernels/functions.hpp).
#pragma once

#include "tensor/simd/kernels.hpp"
#include "tensor/tensor.hpp"

namespace glim {

// dx from dy and what forward keeps: y = f(x) of tanh and sigmoid, x of silu and gelu, no other function.
// ShapeError and DTypeError unless kept and dy have one shape and one floating dtype.
Tensor function_grad(Function f, const Tensor& kept, const Tensor& dy);

}  // namespace glim
