// A step of Sgd, element by element.
#include "optim/kernels/sgd.hpp"

namespace glim::GLIM_ISA {

template <class T>
void sgd(const SgdStep<T>& s, std::int64_t n, T* theta, const T* gradient, T* m) {
  for (std::int64_t i = 0; i < n; ++i) {
    T g = gradient[i] + s.lambda * theta[i];  // g ← g + λ θ
    if (m) {
      m[i] = s.keep * m[i] + s.take * g;        // m ← μ m + (1 - dampening) g
      g = s.nesterov ? g + s.mu * m[i] : m[i];  // g ← g + μ m with nesterov, else m
    }
    theta[i] -= s.eta * g;  // θ ← θ - η g
  }
}

}  // namespace glim::GLIM_ISA

GLIM_EXPORT(sgd)
