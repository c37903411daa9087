// The ways to compute one product of two matrices on one thread.
//
//   c = alpha op(a) op(b) + beta c      op(a) (m, k)   op(b) (k, n)   c (m, n)
//
// Row-major; op transposes where asked; ld* is the distance between rows as stored. Vectors, few rows
// times bᵀ and short rows are read where they lie (tensor/matmul/skinny.hpp); large products are
// packed into blocks, by our own kernel (tensor/matmul/packed.hpp) or by BLAS, whichever is ahead on
// this CPU (tensor/matmul/products.hpp); small ones BLAS computes without packing. Errors: ShapeError for an
// extent beyond BLAS's 32-bit integers.
#pragma once

#include "tensor/matmul/products.hpp"
#include "tensor/shape.hpp"

namespace glim {

template <class T>
struct Way {
  // For extents of at least 1.
  void (*multiply)(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha,
                   const T* a, Index lda, const T* b, Index ldb, T beta, T* c, Index ldc);
  enum Operands { InPlace, ByBlas, ByBlocks } reads;  // ByBlocks: a sum does not depend on the cut
};

// The fastest for these extents, for a whole product before it is cut into tiles.
template <class T>
Way<T> way_of(bool transpose_a, bool transpose_b, Index m, Index n, Index k,
              Products large = product_choice().products);

// By BLAS, whatever the extents, which are at least 1.
template <class T>
void blas_gemm(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha, const T* a,
               Index lda, const T* b, Index ldb, T beta, T* c, Index ldc);

}  // namespace glim
