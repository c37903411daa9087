#include <algorithm>
#include <vector>

#include "tensor/fast/products.hpp"
#include "tensor/matmul/blas.hpp"
#include "tensor/matmul/matmul.hpp"

namespace glim {
namespace {

// At least n elements. Up to 2 MiB are the thread's own from product to product: in the allocator
// threads would wait for each other, and get memory that is in another's cache. `large` holds more.
template <class T>
T* scratch_of(Index n, Tensor& large) {
  constexpr Index kMostKept = (2 << 20) / sizeof(T);
  thread_local Tensor kept;
  if (n > kMostKept)
    large = empty({n}, dtype_of<T>);
  else if (!kept.defined() || kept.numel() < n)
    kept = empty({std::max<Index>(n, 1 << 14)}, dtype_of<T>);
  return (n > kMostKept ? large : kept).template data<T>();
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

// The matrix is read once, in place: by dot products with its rows, or by weighted sums of them.
template <class T>
void multiply_vector(const Gemm<T>& p) {
  bool row = p.m == 1;
  Index length = row ? p.n : p.m, step = row ? 1 : p.ldc;
  bool dots = row ? p.transpose_b : !p.transpose_a;
  const T *matrix = row ? p.b : p.a, *vector = row ? p.a : p.b;
  Index ld = row ? p.ldb : p.lda;
  Index vector_step = row ? (p.transpose_a ? p.lda : 1) : (p.transpose_b ? 1 : p.ldb);
  std::vector<T> gathered, result;  // copies of vectors that are not adjacent
  if (vector_step != 1) {
    for (Index i = 0; i < p.k; ++i) gathered.push_back(vector[i * vector_step]);
    vector = gathered.data();
  }
  T* c = p.c;
  if (step != 1) {
    for (Index i = 0; i < length; ++i) result.push_back(p.c[i * step]);
    c = result.data();
  }
  if (dots)
    dispatch<simd::dots_product<T>>(1, length, p.k, p.alpha, vector, p.k, matrix, ld, p.beta, c,
                                    length);
  else
    dispatch<simd::row_product<T>>(length, p.k, block_depth(p.k, sizeof(T)), p.alpha, vector,
                                   matrix, ld, p.beta, c);
  if (step != 1)
    for (Index i = 0; i < length; ++i) p.c[i * step] = c[i];
}

void multiply_bfloat16(const Gemm<float>& p) {
  const bool tiles = amx() == Amx::Used;
  const PackedBlocks blocks = tiles ? amx_blocks(p.m, p.n, p.k) : bfloat16_blocks(p.m, p.n, p.k);
  Tensor large, sums;
  // c holds the sums between blocks of k, unless they are added to it at the end.
  const bool apart = p.beta != 0 && p.k > blocks.depth;
  if (apart) sums = empty({p.m, p.n}, DType::Float32);
  const Bfloat16Product product{p.transpose_a,
                                p.transpose_b,
                                p.m,
                                p.n,
                                p.k,
                                p.alpha,
                                p.a,
                                p.lda,
                                p.b,
                                p.ldb,
                                p.beta,
                                p.c,
                                p.ldc,
                                apart ? sums.data<float>() : p.c,
                                apart ? p.n : p.ldc,
                                blocks};
  float* scratch = scratch_of<float>(blocks.depth * (blocks.rows + blocks.columns), large);
  if (tiles)
    dispatch<simd::amx_product>(product, scratch);
  else
    dispatch<simd::bfloat16_product>(product, scratch);
}

}  // namespace

template <class T>
void multiply(Algorithm algorithm, const Gemm<T>& p) {
  switch (algorithm) {
    case Algorithm::EmptySum:
      return scale_result(p);
    case Algorithm::Vector:
      return multiply_vector(p);
    case Algorithm::Dots:
      return dispatch<simd::dots_product<T>>(p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta,
                                             p.c, p.ldc);
    case Algorithm::ShortRows:
      return dispatch<simd::short_rows_product<T>>(p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb,
                                                   p.beta, p.c, p.ldc);
    case Algorithm::FewRows: {
      Tensor large;
      return dispatch<simd::few_rows_product<T>>(
          p.m, p.n, p.k, block_depth(p.k, sizeof(T)), p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c,
          p.ldc, scratch_of<T>(few_rows_scratch(p.m, p.k), large));
    }
    case Algorithm::Packed: {
      PackedBlocks blocks = packed_blocks(p.m, p.n, p.k, sizeof(T));
      Tensor large;
      T* scratch = scratch_of<T>(blocks.depth * (blocks.rows + blocks.columns), large);
      return dispatch<simd::packed_product<T>>(p.transpose_a, p.transpose_b, p.m, p.n, p.k, p.alpha,
                                               p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc, blocks,
                                               scratch);
    }
    case Algorithm::Bfloat16:
      if constexpr (sizeof(T) == 4) multiply_bfloat16(p);
      return;
    case Algorithm::Blas:
      return blas_gemm(p);
  }
}
template void multiply(Algorithm, const Gemm<float>&);
template void multiply(Algorithm, const Gemm<double>&);

void require_bfloat16() {}

}  // namespace glim
