// The kernel of optim/, compiled for each instruction set: no tensors, no checks, no threads.
#pragma once

#include <cstdint>

#include "tensor/simd/dispatch.hpp"

namespace glim {

// Factors shared by all elements of a parameter in one step, with the symbols of optim/adam.hpp. Each
// number is computed in float64 and rounded once: 1 - β₂ computed from a float32 β₂ would lose half of its
// digits.
template <class T>
struct AdamStep {
  T eta, beta1, beta2, eps;
  T one_minus_beta1, one_minus_beta2;
  T unbias1, unbias2;  // 1/(1 - β₁ᵗ), 1/(1 - β₂ᵗ): divisions take a quarter longer
  T lambda, lambda_decoupled;  // weight decay: Adam's in the gradient, AdamW's in the parameter
};

namespace simd {

// Updates parameter θ and its averages m and v with the gradient.
template <class T>
void adam(const AdamStep<T>& step, std::int64_t n, T* theta, const T* gradient, T* m, T* v);

}  // namespace simd

}  // namespace glim
