#include "tensor/matmul/multiply.hpp"

#include <algorithm>

#include "tensor/matmul/matmul.hpp"
#include "tensor/simd/kernels.hpp"

namespace glim {
namespace {

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

// A sum of no products; BLAS wants positive leading dimensions.
template <class T>
void scale_result(const Gemm<T>& p) {
  for (Index i = 0; i < p.m; ++i)
    for (Index j = 0; j < p.n; ++j) {
      T& c = p.c[i * p.ldc + j];
      c = p.beta == 0 ? T(0) : p.beta * c;
    }
}

// The matrix is read once, in place. Dot products with its rows are our own: gemv reads four adjacent rows
// at a time, at 0.7 of memory's rate where they are short. Weighted sums of its rows are gemv's.
template <class T>
void multiply_vector(const Gemm<T>& p) {
  // The matrix as stored is rows·columns, and multiplied transposed where `transpose` says so.
  bool row = p.m == 1;
  Index length = row ? p.n : p.m, step = row ? 1 : p.ldc;
  bool transpose = row ? !p.transpose_b : p.transpose_a;
  const T *matrix = row ? p.b : p.a, *vector = row ? p.a : p.b;
  Index ld = row ? p.ldb : p.lda;
  Index vector_step = row ? (p.transpose_a ? p.lda : 1) : (p.transpose_b ? 1 : p.ldb);
  if (!transpose && step == 1 && vector_step == 1)
    return row_kernels<T>().few_rows_product(1, length, p.k, p.alpha, vector, p.k, matrix, ld,
                                             p.beta, p.c, length, nullptr);
  T beta = p.beta;
  if (beta == 0) {  // some versions of gemv multiply by beta, and NaN·0 is NaN
    for (Index i = 0; i < length; ++i) p.c[i * step] = 0;
    beta = 1;
  }
  blas_gemv(transpose, transpose ? p.k : length, transpose ? length : p.k, p.alpha, matrix, ld,
            vector, vector_step, beta, p.c, step);
}

}  // namespace

template <class T>
void multiply(Algorithm algorithm, const Gemm<T>& p) {
  const RowKernels<T>& kernels = row_kernels<T>();
  switch (algorithm) {
    case Algorithm::EmptySum:
      return scale_result(p);
    case Algorithm::WeightedRows:
      return kernels.row_product(p.n, p.k, p.alpha, p.a, p.b, p.ldb, p.beta, p.c);
    case Algorithm::Vector:
      return multiply_vector(p);
    case Algorithm::ShortRows:
      return kernels.short_rows_product(p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c,
                                        p.ldc);
    case Algorithm::FewRows:
      return kernels.few_rows_product(p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c,
                                      p.ldc,
                                      scratch_of<T>(few_rows_scratch(p.m, p.k)).template data<T>());
    case Algorithm::Packed: {
      PackedBlocks blocks = packed_blocks(p.m, p.n, p.k, sizeof(T));
      Tensor scratch = scratch_of<T>(blocks.depth * (blocks.rows + blocks.columns));
      return kernels.packed_product(p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.alpha, p.a,
                                    p.lda, p.b, p.ldb, p.beta, p.c, p.ldc, blocks,
                                    scratch.data<T>());
    }
    case Algorithm::Blas:
      return blas_gemm(p);
  }
}
template void multiply(Algorithm, const Gemm<float>&);
template void multiply(Algorithm, const Gemm<double>&);

template <class T>
void gemm(const Gemm<T>& p) {
  if (p.m > 0 && p.n > 0)
    multiply<T>(algorithm_for<T>(p.transpose_a, p.transpose_b, p.m, p.n, p.k), p);
}
template void gemm(const Gemm<float>&);
template void gemm(const Gemm<double>&);

}  // namespace glim
