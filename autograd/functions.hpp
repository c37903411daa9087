// Functions of each element, y = f(x), a row each. dx is computed from dy and from x or y.
//
//   F(name, what the rule reads, equation, gradient, rule, kernel of the rule)
//
// A row is the op (functions.cpp), the function (ops.hpp) and its binding for Python. Forward is the function of
// that name on tensors (tensor/ops/elementwise.hpp). A kernel takes one pass where the rule takes one for each
// operation. At the kink of |x| the gradient is 0; relu passes dy through where y is NaN.
#pragma once

// clang-format off
#define GLIM_FUNCTIONS(F)                                                                               \
  F(exp, y, "y = e^x", "dx = dy ⊙ y", dy * y)                                                           \
  F(expm1, x, "y = e^x - 1", "dx = dy ⊙ e^x", dy * exp(x))                                              \
  F(log, x, "y = ln x", "dx = dy / x", dy / x)                                                          \
  F(log1p, x, "y = ln(1 + x)", "dx = dy / (1 + x)", dy / (1 + x))                                       \
  F(sqrt, y, "y = √x", "dx = dy / (2 y)", 0.5 * dy / y)                                                 \
  F(sin, x, "y = sin x", "dx = dy ⊙ cos x", dy * cos(x))                                                \
  F(cos, x, "y = cos x", "dx = -dy ⊙ sin x", -(dy * sin(x)))                                            \
  F(abs, x, "y = |x|", "dx = dy ⊙ sign(x), 0 at the kink",                                              \
    where(equal(x.value(), 0), scalar(0, dy.dtype()), dy * sign(x.value())))                            \
  F(erf, x, "y = erf x", "dx = 2/√π dy ⊙ e^(-x²)", dy * exp(-(x * x)) * (2 * std::numbers::inv_sqrtpi), \
    function_grad(ElementFunction::erf, x(), dy))                                                       \
  F(tanh, y, "y = tanh x", "dx = dy ⊙ (1 - y²)", dy * (1 - y * y),                                      \
    function_grad(ElementFunction::tanh, y(), dy))                                                      \
  F(sigmoid, y, "y = 1/(1 + e^-x)", "dx = dy ⊙ y ⊙ (1 - y)", dy * y * (1 - y),                          \
    function_grad(ElementFunction::sigmoid, y(), dy))                                                   \
  F(relu, y, "y = max(0, x)", "dx = dy, 0 where y = 0",                                                 \
    where(equal(y.value(), 0), scalar(0, dy.dtype()), dy), relu_grad(y().value(), dy, 1))
// clang-format on
