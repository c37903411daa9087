// Functions of each element, y = f(x), a row each. Rows of the first list also have dy/dx, from x or from y.
//
//   F(name, f(x), what the slope reads, the slope)
//
// A row is an enumerator, a case of the kernel (functions.hpp), the function on tensors (tensor/ops/elementwise.hpp)
// and a case of the kernel of its gradient (autograd/kernels/simd/functions.hpp). x and y are vectors of T.
#pragma once

// clang-format off
#define GLIM_ELEMENT_FUNCTIONS(F)                                                                 \
  F(exp, exp_wide(x), y, y)                                                                       \
  F(tanh, tanh<T>(x), y, T(1) - y * y)                                                            \
  F(sigmoid, sigmoid<T>(x), y, y * (T(1) - y))                                                    \
  F(erf, erf_wide(x), x, T(1.12837916709551257390) * exp_wide(-x * x))                            \
  F(silu, x * sigmoid<T>(x), x, silu_slope<T>(x))                                                 \
  F(gelu_erf, x * T(0.5) * (T(1) + erf_wide(x * kRootHalf<T>)), x, gelu_erf_slope<T>(x))          \
  F(gelu_tanh, x * T(0.5) * (T(1) + tanh<T>(gelu_argument<T>(x))), x, gelu_tanh_slope<T>(x))
// Functions by the formulas of float64 (tensor/portable_formulas.hpp), which float32 rounds.
#define GLIM_FLOAT64_FUNCTIONS(F) F(expm1) F(log) F(log1p) F(sin) F(cos) F(softplus)
// Functions without a kernel: x is one element, a T.
#define GLIM_SCALAR_FUNCTIONS(F)  \
  F(sqrt, std::sqrt(x))           \
  F(relu, x < 0 ? T(0) : x)
// clang-format on
