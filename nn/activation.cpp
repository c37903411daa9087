#include "nn/activation.hpp"

namespace glim {

Var activate(Activation f, const Var& x) {
  if (f == Activation::GeluTanh) return gelu(x, GeluForm::Tanh);
  return f == Activation::Relu ? relu(x) : f == Activation::Gelu ? gelu(x) : silu(x);
}

Var glu(const Var& x, Index axis) {
  int a = normalize_axis(axis, x.rank(), "glu");
  Index half = x.size(a) / 2;
  if (x.size(a) % 2 != 0)
    throw ShapeError(
        "glu", "axis " + std::to_string(a) + " has the odd extent " + std::to_string(x.size(a)),
        {{"x", x}});
  Var gate = sigmoid(narrow(x, a, half, half));
  return narrow(x, a, 0, half) * gate;
}

}  // namespace glim
