// c = alpha a bᵀ + beta c for few rows of a: each row of b is read once, from where it lies. BLAS
// would first copy all of b into its own order, which costs more than the product when a has few
// rows, as in decoding.
//
//   a (m, k)   b (n, k)   c (m, n)      rows adjacent, ld* apart
#pragma once

#include "tensor/kernels_rows.hpp"
#include "tensor/simd.hpp"

namespace glim::GLIM_ISA {

// Rows of a × rows of b as dot products side by side.
template <class T, int M, int N>
GLIM_INLINE void dots(Index k, const T* a, Index lda, const T* b, Index ldb, T alpha, T beta, T* c,
                      Index ldc) {
  Vec<T> sum[M][N] = {};
  auto step = [&](Index i, auto&& get) {
    Vec<T> right[N];
    for (int q = 0; q < N; ++q) right[q] = get(b + q * ldb + i);
    for (int p = 0; p < M; ++p) {
      Vec<T> left = get(a + p * lda + i);
      for (int q = 0; q < N; ++q) sum[p][q] += left * right[q];
    }
  };
  Index i = 0;
  for (; i + kLanes<T> <= k; i += kLanes<T>) step(i, [](const T* p) { return load<T>(p); });
  if (i < k) step(i, [&](const T* p) { return load_part<T>(p, k - i, T(0)); });
  for (int p = 0; p < M; ++p)
    for (int q = 0; q < N; ++q) {
      T value = alpha * sum_lanes<T>(sum[p][q]);
      T& to = c[p * ldc + q];
      to = beta == T(0) ? value : value + beta * to;
    }
}

template <class T>
void few_rows_product(Index m, Index n, Index k, T alpha, const T* a, Index lda, const T* b,
                      Index ldb, T beta, T* c, Index ldc) {
  Index j = 0;
  auto down = [&]<int N>() {
    Index r = 0;
    for (; r + 4 <= m; r += 4)
      dots<T, 4, N>(k, a + r * lda, lda, b + j * ldb, ldb, alpha, beta, c + r * ldc + j, ldc);
    for (; r < m; ++r)
      dots<T, 1, N>(k, a + r * lda, lda, b + j * ldb, ldb, alpha, beta, c + r * ldc + j, ldc);
  };
  for (; j + 4 <= n; j += 4) down.template operator()<4>();
  for (; j < n; ++j) down.template operator()<1>();
}

}  // namespace glim::GLIM_ISA
