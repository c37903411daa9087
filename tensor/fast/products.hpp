// Kernels of products of matrices, which read their operands in place or pack them. tensor/matmul/plan.hpp says
// which is for what.
#pragma once

#include "tensor/simd/kernels.hpp"

namespace glim {

// How far a packed product's blocks reach (tensor/fast/packed.hpp).
struct PackedBlocks {
  std::int64_t depth, rows, columns;
  // Rows and columns are multiples of these, which a tile of any instruction set divides.
  static constexpr std::int64_t kRowUnit = 12, kColumnBytes = 128;
};

// A product of operands rounded to bfloat16 (tensor/fast/bfloat16.hpp): the extents as in Gemm, and where the sums are
// kept between blocks of k.
struct Bfloat16Product {
  bool transpose_a, transpose_b;
  std::int64_t m, n, k;
  float alpha;
  const float* a;
  std::int64_t lda;
  const float* b;
  std::int64_t ldb;
  float beta;
  float* c;
  std::int64_t ldc;
  float* sums;  // c, or (m, n) elsewhere where c is added to
  std::int64_t ld_sums;
  PackedBlocks blocks;  // depth is a multiple of 32
};

inline constexpr std::int64_t kPanelRows = 96;  // rows of b whose products wait to be transposed
template <class T>
inline constexpr std::int64_t kShortRow = 64 / sizeof(T);
constexpr std::int64_t few_rows_scratch(std::int64_t m, std::int64_t k) {
  return (m + 15) / 16 * 16 * (k + kPanelRows);
}

namespace simd {

// All but the dot products sum along k in order, in blocks of `depth`: the bits do not tell which it was.
//
// c = alpha a b + beta c for one row a
template <class T>
void row_product(Index n, Index k, Index depth, T alpha, const T* a, const T* b, Index ldb, T beta,
                 T* c);
// c = alpha a bᵀ + beta c by dot products in 64 bytes of lanes; b is read in place, once
template <class T>
void dots_product(Index m, Index n, Index k, T alpha, const T* a, Index lda, const T* b, Index ldb,
                  T beta, T* c, Index ldc);
// c = alpha a bᵀ + beta c for few rows of a. `scratch` has few_rows_scratch(m, k) elements.
template <class T>
void few_rows_product(Index m, Index n, Index k, Index depth, T alpha, const T* a, Index lda,
                      const T* b, Index ldb, T beta, T* c, Index ldc, T* scratch);
// c = alpha a bᵀ + beta c for rows of up to kShortRow<T> elements, with AVX-512 alone
template <class T>
void short_rows_product(Index m, Index n, Index k, T alpha, const T* a, Index lda, const T* b,
                        Index ldb, T beta, T* c, Index ldc);
// c = alpha op(a) op(b) + beta c, packed. `scratch` has depth·(rows + columns) elements.
template <class T>
void packed_product(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha,
                    const T* a, Index lda, const T* b, Index ldb, T beta, T* c, Index ldc,
                    const PackedBlocks& blocks, T* scratch);
// c = alpha op(a) op(b) + beta c with operands rounded to bfloat16, without AMX. `scratch` as above.
void bfloat16_product(const Bfloat16Product& p, float* scratch);
// bfloat16_product by AMX: call it where amx() is Used. Rows and columns of a block are multiples of 32.
void amx_product(const Bfloat16Product& p, float* scratch);

}  // namespace simd

}  // namespace glim
