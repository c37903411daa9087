#include "nn/activation.hpp"

namespace glim {

Var activate(Activation f, const Var& x) {
  switch (f) {
    case Activation::Relu:
      return relu(x);
    case Activation::Gelu:
      return gelu(x);
    case Activation::Silu:
      return silu(x);
  }
  return x;
}

std::string_view name_of(Activation f) {
  switch (f) {
    case Activation::Relu:
      return "relu";
    case Activation::Gelu:
      return "gelu";
    case Activation::Silu:
      return "silu";
  }
  return "?";
}

Activation activation_named(std::string_view s) {
  for (Activation f : {Activation::Relu, Activation::Gelu, Activation::Silu})
    if (name_of(f) == s) return f;
  throw ValueError("activation", "'" + std::string(s) + "' is none of relu, gelu, silu");
}

Var glu(const Var& x, Index axis) {
  int a = normalize_axis(axis, x.rank(), "glu");
  Index half = x.size(a) / 2;
  if (x.size(a) % 2 != 0)
    throw with_operands(ShapeError("glu", "axis " + std::to_string(a) + " has the odd extent " +
                                              std::to_string(x.size(a))),
                        Operand("x", x.value()));
  return mul(narrow(x, a, 0, half), sigmoid(narrow(x, a, half, half)));
}

Var ReLU::forward(const Var& x) {
  Scope scope = enter();
  return relu(x);
}
Var GELU::forward(const Var& x) {
  Scope scope = enter();
  return gelu(x, form_);
}
Var SiLU::forward(const Var& x) {
  Scope scope = enter();
  return silu(x);
}
Var Tanh::forward(const Var& x) {
  Scope scope = enter();
  return tanh(x);
}
Var Sigmoid::forward(const Var& x) {
  Scope scope = enter();
  return sigmoid(x);
}
Var Softmax::forward(const Var& x) {
  Scope scope = enter();
  return softmax(x, axis_);
}
Var LogSoftmax::forward(const Var& x) {
  Scope scope = enter();
  return log_softmax(x, axis_);
}

Var GLU::forward(const Var& x) {
  Scope scope = enter();
  return glu(x, axis_);
}

}  // namespace glim
