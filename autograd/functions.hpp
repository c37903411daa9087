// Functions of each element, y = f(x). A record states all of a function but its forward, which is the function of that
// name on tensors (tensor/simd/element_functions.hpp).
//
//   F(name, equation, gradient, text, numpy, what the rule reads, rule, low, high, slope, kernel of the rule)
//
//   text, numpy  how `glim derive` writes the function (tools/derive/notation.txt); in C++ it is a call of its name
//   rule         dx from dy and from x or y
//   low, high    the interval of samples of x
//   slope        smooth, or kinked at 0, where a derivative of first or second order is undecidable
//   kernel       one pass where the rule takes one for each operation
//
// Readers: the op (ops/functions.cpp), its declaration (ops.hpp), the binding for Python, `glim derive`, gradient cases
// and random graphs. At the kink of |x| the gradient is 0, also of an infinite dy; relu passes dy through where y is NaN.
#pragma once

// clang-format off
#define GLIM_FUNCTIONS(F)                                                                                          \
  F(exp, "y = e^x", "dx = dy ⊙ y", "5|exp({0})", "5|np.exp({0})", y, dy * y, -2, 2, smooth)                        \
  F(expm1, "y = e^x - 1", "dx = dy ⊙ e^x", "1|exp({0}) - 1", "5|np.expm1({0})", x, dy * exp(x), -2, 2, smooth)     \
  F(log, "y = ln x", "dx = dy / x", "5|ln({0})", "5|np.log({0})", x, dy / x, 0.3, 3, smooth)                       \
  F(log1p, "y = ln(1 + x)", "dx = dy / (1 + x)", "5|ln(1 + {0})", "5|np.log1p({0})",                               \
    x, dy / (1 + x), -0.7, 3, smooth)                                                                              \
  F(sqrt, "y = √x", "dx = dy / (2 y)", "5|√({0})", "5|np.sqrt({0})", y, 0.5 * dy / y, 0.3, 3, smooth)              \
  F(sin, "y = sin x", "dx = dy ⊙ cos x", "5|sin({0})", "5|np.sin({0})", x, dy * cos(x), -4, 4, smooth)             \
  F(cos, "y = cos x", "dx = -dy ⊙ sin x", "5|cos({0})", "5|np.cos({0})", x, -(dy * sin(x)), -4, 4, smooth)         \
  F(abs, "y = |x|", "dx = dy ⊙ sign(x), 0 at the kink", "5||{0}|", "5|np.abs({0})",                                \
    x, where(equal(x.value(), 0), scalar(0, dy.dtype()), dy * sign(x.value())), -2, 2, kinked)                     \
  F(tanh, "y = tanh x", "dx = dy ⊙ (1 - y²)", "5|tanh({0})", "5|np.tanh({0})", y, dy * (1 - y * y), -3, 3, smooth, \
    function_grad(ElementFunction::tanh, y(), dy))                                                                 \
  F(sigmoid, "y = 1/(1 + e^-x)", "dx = dy ⊙ y ⊙ (1 - y)", "5|sigmoid({0})", "5|sigmoid({0})",                      \
    y, dy * y * (1 - y), -4, 4, smooth, function_grad(ElementFunction::sigmoid, y(), dy))                          \
  F(erf, "y = erf x", "dx = 2/√π dy ⊙ e^(-x²)", "5|erf({0})", "5|erf({0})",                                        \
    x, dy * exp(-(x * x)) * (2 * std::numbers::inv_sqrtpi), -2, 2, smooth,                                         \
    function_grad(ElementFunction::erf, x(), dy))                                                                  \
  F(relu, "y = max(0, x)", "dx = dy, 0 where y = 0", "5|max(0, {0})", "5|np.maximum(0, {0})",                      \
    y, where(equal(y.value(), 0), scalar(0, dy.dtype()), dy), -2, 2, kinked, relu_grad(y().value(), dy, 1))        \
  F(softplus, "y = ln(1 + e^x)", "dx = dy ⊙ sigmoid(x)", "5|ln(1 + exp({0}))", "5|np.logaddexp(0, {0})",           \
    x, dy * sigmoid(x), -4, 4, smooth)
// clang-format on
