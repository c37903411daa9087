// Matrix products.
//
//   y = a b      a: (..., M, K)   b: (..., K, N)   y: (..., M, N)
//
// Leading axes broadcast. Operands may be transposed views: no copy is made when one of the last two strides is 1 and
// the other is no shorter than what it passes. A vector (K,) counts as (1, K) on the left and (K, 1) on the right, and
// the extra axis is dropped from the result. The bits do not depend on the number of threads. The way of a product:
//
//   Checked    shapes and dtypes, and a copy of what has other strides                  matmul.cpp
//   run        the result in tiles, which threads share; algorithm and tiles by plan.hpp
//   multiply   a tile: by definition, in ten lines, in tensor/plain/plain.cpp; fast in tensor/fast/multiply.cpp, packed.hpp
//
// Errors: ShapeError (inner dimensions, leading axes), DTypeError (other than equal floats).
#pragma once

#include "tensor/matmul/plan.hpp"
#include "tensor/tensor.hpp"

namespace glim {

Tensor matmul(const Tensor& a, const Tensor& b);
// Computes large products by the one named instead of by the one chosen for this CPU, for comparisons.
Tensor matmul_by(GemmEngine large, const Tensor& a, const Tensor& b);

// out = alpha·a b + beta·out, out contiguous rows of the result's shape: how a gradient is added
// to where it belongs without a temporary.
void matmul_into(const Tensor& out, const Tensor& a, const Tensor& b, double alpha, double beta);

// Applied to each tile of a product while it is in the cache: + bias (N,), max(0, ·), dropout
// by the element's position in the result.
struct DropSpec;
struct Epilogue {
  const Tensor& bias;  // the caller's, or undefined
  bool relu = false;
  const DropSpec* drop = nullptr;
};
// epilogue(a b) for matrices a (M, K) and b (K, N).
Tensor matmul_then(const Tensor& a, const Tensor& b, const Epilogue& epilogue);

// For kernels: one product of matrices on this thread.
template <class T>
void gemm(const Gemm<T>& p);

}  // namespace glim
