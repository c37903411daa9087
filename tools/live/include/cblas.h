// In place of OpenBLAS, which WebAssembly has not: c = alpha op(a) op(b) + beta c, row-major, on one thread, in
// tiles of 4 rows and 2 vectors of 16 bytes whose sums stay in registers.
#pragma once

#include <vector>

using blasint = int;
enum CBLAS_ORDER { CblasRowMajor = 101 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112 };

namespace page_blas {

template <class T>
using Vector [[gnu::vector_size(16)]] = T;

// Elements op(x)(i, p), i from `first` on, in panels [k][width]; 0 beyond `rows`.
template <class T>
void pack(bool transposed, const T* x, int ld, int rows, int k, int first, int width, T* to) {
  for (int p = 0; p < k; ++p)
    for (int i = 0; i < width; ++i) {
      int row = first + i;
      *to++ = row >= rows ? T(0) : transposed ? x[p * ld + row] : x[row * ld + p];
    }
}

template <class T>
void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, T alpha, const T* a, int lda,
          const T* b, int ldb, T beta, T* c, int ldc) {
  constexpr int kLanes = 16 / sizeof(T), kRows = 4, kColumns = 2 * kLanes;
  static std::vector<T> rows_of_a, columns_of_b;
  const int panels = (m + kRows - 1) / kRows;
  rows_of_a.resize(static_cast<std::size_t>(panels) * kRows * k);
  columns_of_b.resize(static_cast<std::size_t>(k) * kColumns);
  for (int i = 0; i < panels; ++i)
    pack(transpose_a, a, lda, m, k, i * kRows, kRows, rows_of_a.data() + i * kRows * k);
  for (int j = 0; j < n; j += kColumns) {
    pack(!transpose_b, b, ldb, n, k, j, kColumns, columns_of_b.data());
    for (int i = 0; i < m; i += kRows) {
      Vector<T> sum[kRows][2] = {};
      const T* left = rows_of_a.data() + i * k;
      const auto* right = reinterpret_cast<const Vector<T>*>(columns_of_b.data());
      for (int p = 0; p < k; ++p, left += kRows, right += 2)
        for (int r = 0; r < kRows; ++r)
          for (int v = 0; v < 2; ++v) sum[r][v] += left[r] * right[v];
      for (int r = 0; r < kRows && i + r < m; ++r)
        for (int q = 0; q < kColumns && j + q < n; ++q) {
          T& out = c[(i + r) * ldc + j + q];
          out = alpha * sum[r][q / kLanes][q % kLanes] + (beta == T(0) ? T(0) : beta * out);
        }
    }
  }
}

// y = alpha op(a) x + beta y for a (rows, columns) as stored.
template <class T>
void gemv(bool transpose, int rows, int columns, T alpha, const T* a, int lda, const T* x,
          int step_x, T beta, T* y, int step_y) {
  const int n = transpose ? columns : rows, k = transpose ? rows : columns;
  for (int i = 0; i < n; ++i) {
    T sum = 0;
    for (int p = 0; p < k; ++p)
      sum += (transpose ? a[p * lda + i] : a[i * lda + p]) * x[p * step_x];
    T& out = y[i * step_y];
    out = alpha * sum + (beta == T(0) ? T(0) : beta * out);
  }
}

}  // namespace page_blas

#define PAGE_BLAS(T, GEMM, GEMV)                                                                   \
  inline void GEMM(CBLAS_ORDER, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k,       \
                   T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) {     \
    page_blas::gemm<T>(ta == CblasTrans, tb == CblasTrans, m, n, k, alpha, a, lda, b, ldb, beta,   \
                       c, ldc);                                                                    \
  }                                                                                                \
  inline void GEMV(CBLAS_ORDER, CBLAS_TRANSPOSE t, int rows, int columns, T alpha, const T* a,     \
                   int lda, const T* x, int step_x, T beta, T* y, int step_y) {                    \
    page_blas::gemv<T>(t == CblasTrans, rows, columns, alpha, a, lda, x, step_x, beta, y, step_y); \
  }
PAGE_BLAS(float, cblas_sgemm, cblas_sgemv)
PAGE_BLAS(double, cblas_dgemm, cblas_dgemv)
#undef PAGE_BLAS

inline void openblas_set_num_threads(int) {}
inline const char* openblas_get_config() { return "none: WebAssembly"; }
inline const char* openblas_get_corename() { return "wasm"; }
inline int openblas_get_parallel() { return 0; }
