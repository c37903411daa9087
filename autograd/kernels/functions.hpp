// Gradients of functions of each element (autograd/ops/functions.cpp) in one pass, where the rule takes one
// for each operation.
#pragma once

#include "autograd/kernels/rows.hpp"
#include "tensor/error.hpp"

namespace glim {

// dx from dy and what forward keeps: y = f(x) of tanh and sigmoid, x of silu and gelu, no other function.
// ShapeError and DTypeError unless kept and dy have one shape and one floating dtype.
inline Tensor function_grad(Function f, const Tensor& kept, const Tensor& dy) {
  require_floating(kept, "function_grad");
  if (kept.shape() != dy.shape())
    throw ShapeError("function_grad", "a gradient has the shape of its value",
                     {{"kept", kept}, {"dy", dy}});
  if (kept.dtype() != dy.dtype())
    throw DTypeError("function_grad", "a gradient has the dtype of its value",
                     {{"kept", kept}, {"dy", dy}});
  Tensor in = kept.contiguous(), dy_flat = dy.contiguous(), dx = empty(dy.shape(), dy.dtype());
  each_elements(dx, [&]<class T>(Index begin, Index end) {
    dispatch<simd::function_grad<T>>(f, end - begin, in.data<T>() + begin,
                                     dy_flat.data<T>() + begin, dx.data<T>() + begin);
  });
  return dx;
}

// y > 0 ? scale·dy : 0, into dx, which may be y.
inline void relu_grad(const Tensor& dx, const Tensor& y, const Tensor& dy, double scale) {
  Tensor out = y.contiguous(), dy_flat = dy.contiguous();
  each_elements(dx, [&]<class T>(Index begin, Index end) {
    dispatch<simd::relu_grad<T>>(end - begin, out.data<T>() + begin, dy_flat.data<T>() + begin,
                                 static_cast<T>(scale), dx.data<T>() + begin);
  });
}

}  // namespace glim
