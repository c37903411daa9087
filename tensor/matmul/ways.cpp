#include "tensor/matmul/ways.hpp"

#include <algorithm>
#include <cblas.h>
#include <climits>
#include <initializer_list>

#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/parallel.hpp"
#include "tensor/simd/kernels.hpp"

namespace glim {
namespace {

// BLAS works on one thread a call: the tiles are what runs in parallel. OpenBLAS asks its own
// setting, which a thread makes once, or OpenMP's, which ends with the parallel loop it was made in;
// num_threads() is read first because both lower omp_get_max_threads().
void one_thread_a_call() {
  thread_local const bool set = [] {
    (void)num_threads();
    openblas_set_num_threads(1);
    return true;
  }();
  (void)set;
  confine_libraries();
}

void require_blas_extents(std::initializer_list<Index> extents) {
  if (std::max(extents) > INT_MAX)
    throw ShapeError("matmul", "an extent is beyond the 32-bit integers of BLAS");
}

// At least n elements. Up to 2 MiB are the thread's own from product to product: in the allocator
// threads would wait for each other, and get memory that lies in another's cache.
template <class T>
Tensor scratch_of(Index n) {
  constexpr Index kMostKept = (2 << 20) / sizeof(T);
  if (n > kMostKept) return empty({n}, dtype_of<T>);
  thread_local Tensor kept;
  if (!kept.defined() || kept.numel() < n) kept = empty({std::max<Index>(n, 1 << 14)}, dtype_of<T>);
  return kept;
}

// Blocks for the caches, in float: 256 along the inner dimension, so that a panel of b's 32 columns
// takes 32 KiB of the first; 192 rows of a and up to 512 columns of b, 0.7 MiB in the second. How k
// is divided depends on k alone.
template <class T>
PackedBlocks packed_blocks(Index m, Index n, Index k) {
  constexpr Index kDeepest = 1024 / sizeof(T), kRows = 192, kColumns = 512;
  auto up = [](Index x, Index unit) { return (x + unit - 1) / unit * unit; };
  Index pieces = (k + kDeepest - 1) / kDeepest;
  return {up((k + pieces - 1) / pieces, 16), std::min(up(m, PackedBlocks::kTileRows), kRows),
          std::min(up(n, PackedBlocks::kTileBytes / sizeof(T)), kColumns)};
}

template <class T>
void packed(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha, const T* a,
            Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
  PackedBlocks blocks = packed_blocks<T>(m, n, k);
  Tensor scratch = scratch_of<T>(blocks.depth * (blocks.rows + blocks.columns));
  row_kernels<T>().packed_product(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                  ldc, blocks, scratch.data<T>());
}

// A sum of no products. BLAS wants positive leading dimensions.
template <class T>
void empty_product(bool, bool, Index m, Index n, Index, T, const T*, Index, const T*, Index, T beta,
                   T* c, Index ldc) {
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) c[i * ldc + j] = beta == 0 ? T(0) : beta * c[i * ldc + j];
}

template <class T>
void row_product(bool, bool, Index, Index n, Index k, T alpha, const T* a, Index, const T* b,
                 Index ldb, T beta, T* c, Index) {
  row_kernels<T>().row_product(n, k, alpha, a, b, ldb, beta, c);
}
template <class T>
void short_rows_product(bool, bool, Index m, Index n, Index k, T alpha, const T* a, Index lda,
                        const T* b, Index ldb, T beta, T* c, Index ldc) {
  row_kernels<T>().short_rows_product(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <class T>
void few_rows_product(bool, bool, Index m, Index n, Index k, T alpha, const T* a, Index lda,
                      const T* b, Index ldb, T beta, T* c, Index ldc) {
  Tensor scratch = scratch_of<T>(few_rows_scratch(m, k));
  row_kernels<T>().few_rows_product(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                                    scratch.data<T>());
}

// A product of which one side is a vector: the matrix is read once, in place. Dot products with its
// rows are our own (gemv reads four adjacent rows at a time, at 0.7 of memory's rate where they are
// short); weighed rows are gemv's.
template <class T>
void vector_product(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha,
                    const T* a, Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
  // The matrix as stored is rows·columns, and multiplied transposed where `trans` says so.
  bool row = m == 1;
  Index length = row ? n : m, step = row ? 1 : ldc;
  bool trans = row ? !transpose_b : transpose_a;
  const T *matrix = row ? b : a, *vector = row ? a : b;
  Index ld = row ? ldb : lda, vector_step = row ? (transpose_a ? lda : 1) : (transpose_b ? 1 : ldb);
  if (!trans && step == 1 && vector_step == 1)
    return row_kernels<T>().few_rows_product(1, length, k, alpha, vector, k, matrix, ld, beta, c,
                                             length, nullptr);
  if (beta == 0) {  // some versions of gemv multiply by beta, and NaN·0 is NaN
    for (Index i = 0; i < length; ++i) c[i * step] = 0;
    beta = 1;
  }
  auto i = [](Index v) { return static_cast<blasint>(v); };
  Index rows = trans ? k : length, columns = trans ? length : k;
  auto t = trans ? CblasTrans : CblasNoTrans;
  require_blas_extents({rows, columns, ld, vector_step, step});
  one_thread_a_call();
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemv(CblasRowMajor, t, i(rows), i(columns), alpha, matrix, i(ld), vector, i(vector_step),
                beta, c, i(step));
  else
    cblas_dgemv(CblasRowMajor, t, i(rows), i(columns), alpha, matrix, i(ld), vector, i(vector_step),
                beta, c, i(step));
}

}  // namespace

template <class T>
void blas_gemm(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha, const T* a,
               Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
  require_blas_extents({m, n, k, lda, ldb, ldc});
  one_thread_a_call();
  auto ta = transpose_a ? CblasTrans : CblasNoTrans, tb = transpose_b ? CblasTrans : CblasNoTrans;
  auto i = [](Index v) { return static_cast<blasint>(v); };
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemm(CblasRowMajor, ta, tb, i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb), beta, c,
                i(ldc));
  else
    cblas_dgemm(CblasRowMajor, ta, tb, i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb), beta, c,
                i(ldc));
}
template void blas_gemm<float>(bool, bool, Index, Index, Index, float, const float*, Index,
                               const float*, Index, float, float*, Index);
template void blas_gemm<double>(bool, bool, Index, Index, Index, double, const double*, Index,
                                const double*, Index, double, double*, Index);

// BLAS packs nothing up to 10^6 multiplications, of a bᵀ up to 1200 results. Beyond, our own packed
// product is ahead, where there is one; beyond kLarge, more than the heads of attention have, the CPU
// decides.
template <class T>
Way<T> way_of(bool transpose_a, bool transpose_b, Index m, Index n, Index k, Products large) {
  if (k == 0) return {empty_product<T>, Way<T>::InPlace};
  const RowKernels<T>& kernels = row_kernels<T>();
  constexpr Index kSmallMatrix = 1 << 16, kSmallResult = 1200;
  if (m == 1 && !transpose_a && !transpose_b && n * k <= kSmallMatrix)
    return {row_product<T>, Way<T>::InPlace};  // a head's context, worth no call of gemv
  if (m == 1 || n == 1) return {vector_product<T>, Way<T>::InPlace};
  if (!transpose_a && transpose_b) {
    if (k <= kShortRow<T> && kernels.short_rows_product)
      return {short_rows_product<T>, Way<T>::InPlace};
    if (kernels.few_rows_pay(m, n, k)) return {few_rows_product<T>, Way<T>::InPlace};
  }
  constexpr double kLarge = 1 << 22;
  double results = static_cast<double>(m) * static_cast<double>(n),
         work = results * static_cast<double>(k);
  bool small = work <= 1e6 && !(transpose_b && results > static_cast<double>(kSmallResult));
  bool own = large == Products::Own || work <= kLarge;
  if (!small && own && kernels.packed_product) return {packed<T>, Way<T>::ByBlocks};
  return {blas_gemm<T>, Way<T>::ByBlas};
}
template Way<float> way_of<float>(bool, bool, Index, Index, Index, Products);
template Way<double> way_of<double>(bool, bool, Index, Index, Index, Products);

template <class T>
void gemm(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha, const T* a,
          Index lda, const T* b, Index ldb, T beta, T* c, Index ldc) {
  if (m == 0 || n == 0) return;
  way_of<T>(transpose_a, transpose_b, m, n, k)
      .multiply(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template void gemm<float>(bool, bool, Index, Index, Index, float, const float*, Index, const float*,
                          Index, float, float*, Index);
template void gemm<double>(bool, bool, Index, Index, Index, double, const double*, Index,
                           const double*, Index, double, double*, Index);

BlasInfo blas_info() {
  int p = openblas_get_parallel();
  return {openblas_get_config(), openblas_get_corename(),
          p == 0   ? "sequential"
          : p == 1 ? "pthread"
                   : "openmp"};
}

}  // namespace glim
