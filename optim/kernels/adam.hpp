// Adam's update of a parameter's elements (optim/adam.hpp has the equations): a plain loop, which the
// compiler turns into vectors of each instruction set.
#pragma once

#include "tensor/simd/kernels.hpp"
#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

GLIM_INLINE float square_root(float x) { return __builtin_sqrtf(x); }
GLIM_INLINE double square_root(double x) { return __builtin_sqrt(x); }

template <class T>
void adam(const AdamStep<T>& s, Index n, T* w, const T* g, T* m, T* v) {
  for (Index i = 0; i < n; ++i) {
    T d = g[i] + s.couple * w[i];
    T mean = s.beta1 * m[i] + s.take1 * d;
    T square = s.beta2 * v[i] + s.take2 * d * d;
    m[i] = mean;
    v[i] = square;
    w[i] = s.keep * w[i] - s.size * mean / (square_root(square) / s.root + s.eps);
  }
}

}  // namespace glim::GLIM_ISA
