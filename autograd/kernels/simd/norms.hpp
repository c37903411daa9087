// Layer norm of rows, and RMS norm, which is layer norm with μ = 0 and β = 0. The equations are in
// autograd/ops/layer_norm.cpp and rms_norm.cpp. s = 1/σ, and x̂ = (x - μ) s.
#pragma once

#include "autograd/kernels/simd/op_kernels.hpp"
#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

template <class T>
void norm_rows(const NormRows<T>& norm) {
  const Index n = norm.columns;
  const T *x = norm.x.x, *gamma = norm.gamma, *beta = norm.beta;
  T* y = norm.y;
  for (Index r = 0; r < norm.rows; ++r, x += norm.x.ld, y += n) {
    T mu = 0;  // mean x
    if (norm.mean) {
      Sum<T> sum;
      each<T>(x, n, T(0), [&](Index, Vec<T> v, int part) { sum.part[part] += v; });
      norm.mean[r] = mu = sum_lanes<T>(sum) / static_cast<T>(n);
    }
    Sum<T> square;  // Σ (x - μ)²
    each<T>(x, n, mu, [&](Index, Vec<T> v, int part) {
      square.part[part] = multiply_add<T>(v - mu, v - mu, square.part[part]);
    });
    T variance = sum_lanes<T>(square) / static_cast<T>(n);
    T s = T(1) / (sizeof(T) == 4 ? __builtin_sqrtf(static_cast<float>(variance + norm.eps))
                                 : static_cast<T>(__builtin_sqrt(variance + norm.eps)));
    each_to<T>(y, x, n, [&](Index i, Vec<T> v) {
      // y = γ ⊙ x̂ + β. Without β, -0 is added: x + -0 is x, whatever its sign.
      Vec<T> x_hat = (v - mu) * s, shift = beta ? at<T>(beta, i, n) : splat<T>(T(-0.0));
      return gamma ? multiply_add<T>(x_hat, at<T>(gamma, i, n), shift) : x_hat + shift;
    });
    norm.inverse_sigma[r] = s;
  }
}

// g = γ ⊙ dy, x̂ = (x - μ)/σ:  dx = (g - mean g - x̂ ⊙ mean(g ⊙ x̂))/σ,  dγ = Σ_rows dy ⊙ x̂,  dβ = Σ_rows dy. RMS norm has no
// μ and no mean g. Products are grouped as in the two rules.
template <class T>
void norm_rows_grad(const NormRowsGrad<T>& norm) {
  const Index n = norm.columns;
  const T *x = norm.x.x, *dy = norm.dy.x, *gamma = norm.gamma, *mean = norm.mean;
  T *dx = norm.dx, *dgamma = norm.dgamma, *dbeta = norm.dbeta;
  for (Index r = 0; r < norm.rows; ++r, x += norm.x.ld, dy += norm.dy.ld) {
    T mu = mean ? mean[r] : T(0), s = norm.inverse_sigma[r];
    // The first pass: Σ g, Σ g ⊙ x̂, the row's part of dγ and dβ, and g in dx's place.
    Sum<T> sum_g, sum_gx;
    each_part<T>(
        n, [&](Index i, int part, bool) __attribute__((always_inline)) {
          Vec<T> dy_i = at<T>(dy, i, n), centered = at<T>(x, i, n) - mu;
          Vec<T> dy_x_hat = mean ? dy_i * (centered * s) : dy_i * centered * s;
          Vec<T> gamma_i = gamma ? at<T>(gamma, i, n) : splat<T>(1);
          Vec<T> g = dy_i * gamma_i;
          sum_g.part[part] += g;
          sum_gx.part[part] = multiply_add<T>(dy_x_hat, gamma_i, sum_gx.part[part]);
          if (dgamma) put<T>(dgamma, i, n, at<T>(dgamma, i, n) + dy_x_hat);
          if (dbeta) put<T>(dbeta, i, n, at<T>(dbeta, i, n) + dy_i);
          if (dx) put<T>(dx, i, n, g);
        });
    if (!dx) continue;
    // The second: dx = (g - mean g - x̂ ⊙ mean(g ⊙ x̂))/σ.
    T mean_g = mean ? sum_lanes<T>(sum_g) / static_cast<T>(n) : T(0),
      mean_gx = sum_lanes<T>(sum_gx) / static_cast<T>(n);
    each_to<T>(dx, x, n, [&](Index i, Vec<T> v) {
      return multiply_add<T>((v - mu) * s, -mean_gx, at<T>(dx, i, n) - mean_g) * s;
    });
    dx += n;
  }
}

}  // namespace glim::GLIM_ISA
