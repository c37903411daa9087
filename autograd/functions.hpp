// Functions of each element, y = f(x). A record states all of a function but its forward, which is the function of that
// name on tensors (tensor/ops/elementwise.hpp; its row, but for abs, is in tensor/simd/element_functions.hpp).
//
//   F(name, equation, gradient, what the rule reads, rule, low, high, slope, kernel of the rule)
//
// The first row is the op
//
//   struct exp_op : Unary {
//     Tensor forward(const Tensor& x) { save_output(); return exp(x); }
//     Var dx(const Var& dy) const { return dy * y; }     y: the value that forward saved
//   };
//
//   rule         dx from dy and from x or y
//   low, high    the interval of samples of x, for tests
//   slope        smooth, or kinked at 0, where a derivative of first or second order is undecidable
//   kernel       one pass where the rule takes one for each operation
//
// Readers: the op (ops/functions.cpp), its declaration (ops.hpp), the binding for Python, gradient cases, random graphs and
// `glim derive`. At the kink of |x| the gradient is 0, also of an infinite dy; relu passes dy through where y is NaN.
#pragma once

// clang-format off
#define GLIM_FUNCTIONS(F)                                                                          \
 /* function  equation            gradient                 x or y and the rule    samples of tests */\
  F(exp,      "y = e^x",          "dx = dy ⊙ y",           y, dy * y,             -2, 2, smooth)   \
  F(expm1,    "y = e^x - 1",      "dx = dy ⊙ e^x",         x, dy * exp(x),        -2, 2, smooth)   \
  F(log,      "y = ln x",         "dx = dy / x",           x, dy / x,             0.3, 3, smooth)  \
  F(log1p,    "y = ln(1 + x)",    "dx = dy / (1 + x)",     x, dy / (1 + x),       -0.7, 3, smooth) \
  F(sqrt,     "y = √x",           "dx = dy / (2 y)",       y, 0.5 * dy / y,       0.3, 3, smooth)  \
  F(sin,      "y = sin x",        "dx = dy ⊙ cos x",       x, dy * cos(x),        -4, 4, smooth)   \
  F(cos,      "y = cos x",        "dx = -dy ⊙ sin x",      x, -(dy * sin(x)),     -4, 4, smooth)   \
  F(abs,      "y = |x|",          "dx = dy ⊙ sign(x), 0 at the kink",                              \
    x, where(equal(x.value(), 0), scalar(0, dy.dtype()), dy * sign(x.value())),   -2, 2, kinked)   \
  F(tanh,     "y = tanh x",       "dx = dy ⊙ (1 - y²)",    y, dy * (1 - y * y),   -3, 3, smooth,   \
    function_grad(ElementFunction::tanh, y, dy))                                                   \
  F(sigmoid,  "y = 1/(1 + e^-x)", "dx = dy ⊙ y ⊙ (1 - y)", y, dy * (y * (1 - y)), -4, 4, smooth,   \
    function_grad(ElementFunction::sigmoid, y, dy))                                                \
  F(erf,      "y = erf x",        "dx = 2/√π dy ⊙ e^(-x²)",                                        \
    x, dy * exp(-(x * x)) * (2 * std::numbers::inv_sqrtpi),                       -2, 2, smooth,   \
    function_grad(ElementFunction::erf, x, dy))                                                    \
  F(relu,     "y = max(0, x)",    "dx = dy, 0 where y = 0",                                        \
    y, where(equal(y.value(), 0), scalar(0, dy.dtype()), dy),                     -2, 2, kinked,   \
    relu_grad(y.value(), dy, 1))                                                                   \
  F(softplus, "y = ln(1 + e^x)",  "dx = dy ⊙ sigmoid(x)",  x, dy * sigmoid(x),    -4, 4, smooth)
// clang-format on
