// Layer norm and RMS norm of rows. The equations are in autograd/ops/layer_norm.cpp and rms_norm.cpp.
#pragma once

#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

template <class T>
void layer_norm(Index rows, Index n, const T* x, Index ld, const T* gamma, const T* beta, T eps,
                T* y, T* mean, T* inverse_sigma) {
  for (Index r = 0; r < rows; ++r, x += ld, y += n) {
    Sum<T> sum;
    each<T>(x, n, T(0), [&](Index, Vec<T> v, int part) { sum.part[part] += v; });
    T mu = sum_lanes<T>(sum) / static_cast<T>(n);
    Sum<T> square;
    each<T>(x, n, mu, [&](Index, Vec<T> v, int part) {
      square.part[part] = multiply_add<T>(v - mu, v - mu, square.part[part]);
    });
    T variance = sum_lanes<T>(square) / static_cast<T>(n);
    T s = T(1) / (sizeof(T) == 4 ? __builtin_sqrtf(static_cast<float>(variance + eps))
                                 : static_cast<T>(__builtin_sqrt(variance + eps)));
    each_to<T>(y, x, n, [&](Index i, Vec<T> v) {
      Vec<T> out = (v - mu) * s, shift = beta ? at<T>(beta, i, n) : Vec<T>{};
      return gamma ? multiply_add<T>(out, at<T>(gamma, i, n), shift) : out + shift;
    });
    mean[r] = mu;
    inverse_sigma[r] = s;
  }
}

template <class T>
void layer_norm_grad(Index rows, Index n, const T* x, Index ld, const T* gamma, const T* mean,
                     const T* inverse_sigma, const T* dy, Index ld_dy, T* dx, T* dgamma, T* dbeta) {
  for (Index r = 0; r < rows; ++r, x += ld, dy += ld_dy) {
    T mu = mean[r], s = inverse_sigma[r];
    Sum<T> sum, dot;
    each_part<T>(
        n, [&](Index i, int part, bool) __attribute__((always_inline)) {
          Vec<T> d = at<T>(dy, i, n), x_hat = (at<T>(x, i, n) - mu) * s;
          Vec<T> d_hat = d * x_hat;
          Vec<T> weight = gamma ? at<T>(gamma, i, n) : splat<T>(1);
          Vec<T> g = d * weight;
          sum.part[part] += g;
          dot.part[part] = multiply_add<T>(d_hat, weight, dot.part[part]);
          if (dgamma) put<T>(dgamma, i, n, at<T>(dgamma, i, n) + d_hat);
          if (dbeta) put<T>(dbeta, i, n, at<T>(dbeta, i, n) + d);
          if (dx) put<T>(dx, i, n, g);
        });
    if (!dx) continue;
    T mean_g = sum_lanes<T>(sum) / static_cast<T>(n),
      mean_gx = sum_lanes<T>(dot) / static_cast<T>(n);
    each_to<T>(dx, x, n, [&](Index i, Vec<T> v) {
      return multiply_add<T>((v - mu) * s, -mean_gx, at<T>(dx, i, n) - mean_g) * s;
    });
    dx += n;
  }
}

template <class T>
void rms_norm(Index rows, Index n, const T* x, Index ld, const T* gamma, T eps, T* y,
              T* inverse_root) {
  for (Index r = 0; r < rows; ++r, x += ld, y += n) {
    Sum<T> square;
    each<T>(x, n, T(0), [&](Index, Vec<T> v, int part) {
      square.part[part] = multiply_add<T>(v, v, square.part[part]);
    });
    T mean_square = sum_lanes<T>(square) / static_cast<T>(n);
    T s = T(1) / (sizeof(T) == 4 ? __builtin_sqrtf(static_cast<float>(mean_square + eps))
                                 : static_cast<T>(__builtin_sqrt(mean_square + eps)));
    each_to<T>(y, x, n, [&](Index i, Vec<T> v) {
      Vec<T> out = v * s;
      if (gamma) out *= at<T>(gamma, i, n);
      return out;
    });
    inverse_root[r] = s;
  }
}

template <class T>
void rms_norm_grad(Index rows, Index n, const T* x, Index ld, const T* gamma, const T* inverse_root,
                   const T* dy, Index ld_dy, T* dx, T* dgamma) {
  for (Index r = 0; r < rows; ++r, x += ld, dy += ld_dy) {
    T s = inverse_root[r];
    Sum<T> dot;
    each_part<T>(
        n, [&](Index i, int part, bool) __attribute__((always_inline)) {
          Vec<T> d_hat = at<T>(dy, i, n) * at<T>(x, i, n) * s;
          Vec<T>& to = dot.part[part];
          to = gamma ? multiply_add<T>(d_hat, at<T>(gamma, i, n), to) : to + d_hat;
          if (dgamma) put<T>(dgamma, i, n, at<T>(dgamma, i, n) + d_hat);
        });
    if (!dx) continue;
    T mean_gx = sum_lanes<T>(dot) / static_cast<T>(n);
    each_to<T>(dx, x, n, [&](Index i, Vec<T> v) {
      Vec<T> g = at<T>(dy, i, n);
      if (gamma) g *= at<T>(gamma, i, n);
      return multiply_add<T>(v * s, -mean_gx, g) * s;
    });
    dx += n;
  }
}

}  // namespace glim::GLIM_ISA
