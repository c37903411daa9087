// The kernel of Sgd, as that of Adam: no tensors, no checks, no threads.
#pragma once

#include <cstdint>

#include "tensor/simd/dispatch.hpp"

namespace glim {

// Factors shared by all elements of a parameter in one step, with the symbols of optim/sgd.hpp.
template <class T>
struct SgdStep {
  T eta, lambda, mu;
  T keep, take;  // m ← keep m + take g
  bool nesterov;
};

namespace simd {

// Updates parameter θ and its momentum m, null without, with the gradient.
template <class T>
void sgd(const SgdStep<T>& step, std::int64_t n, T* theta, const T* gradient, T* m);

}  // namespace simd

}  // namespace glim
