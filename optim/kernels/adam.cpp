// A step of Adam, element by element: the algorithm of the paper, line by line. It is a plain loop, which
// the compiler turns into vectors of each instruction set, GLIM_ISA naming it (meson.build).
#include "optim/kernels/adam.hpp"

namespace glim::GLIM_ISA {

[[gnu::always_inline]] static inline float square_root(float x) { return __builtin_sqrtf(x); }
[[gnu::always_inline]] static inline double square_root(double x) { return __builtin_sqrt(x); }

template <class T>
void adam(const AdamStep<T>& s, std::int64_t n, T* theta, const T* gradient, T* mean, T* square) {
  const T eta = s.eta, eps = s.eps;
  for (std::int64_t i = 0; i < n; ++i) {
    T w = theta[i];
    T g = gradient[i] + s.lambda * w;                         // Adam: g ← g + λ θ
    w = w - eta * s.lambda_decoupled * w;                     // AdamW: θ ← θ - η λ θ
    T m = s.beta1 * mean[i] + s.one_minus_beta1 * g;          // m ← β₁ m + (1 - β₁) g
    T v = s.beta2 * square[i] + s.one_minus_beta2 * g * g;    // v ← β₂ v + (1 - β₂) g²
    T m_hat = m * s.unbias1;                                  // m̂ = m / (1 - β₁ᵗ)
    T v_hat = v * s.unbias2;                                  // v̂ = v / (1 - β₂ᵗ)
    theta[i] = w - eta * m_hat / (square_root(v_hat) + eps);  // θ ← θ - η m̂ / (√v̂ + ε)
    mean[i] = m;
    square[i] = v;
  }
}

}  // namespace glim::GLIM_ISA

GLIM_EXPORT(adam)
