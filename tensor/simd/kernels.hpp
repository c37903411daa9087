// Row kernels of the tensor room: plain loops over rows in memory, compiled for each instruction set
// (tensor/simd/vec.hpp). They know no tensors, check nothing and start no threads. Their callers cut the rows
// into pieces that do not depend on the number of threads.
//
// T is float or double. A row's elements are adjacent; `ld` is the distance between rows.
#pragma once

#include <cstdint>

#include "tensor/simd/dispatch.hpp"

namespace glim {

// One draw of dropout per element: word i mod 4 of block i / 4 of the stream (tensor/random.hpp).
// An element is dropped when its word is below `threshold`, else multiplied by `scale`.
struct DropSpec {
  std::uint64_t seed, stream;
  std::uint32_t threshold;
  double scale;
};

// How far a packed product's blocks reach (tensor/matmul/packed.hpp).
struct PackedBlocks {
  std::int64_t depth, rows, columns;
  // Rows and columns are multiples of these, which a tile of any instruction set divides.
  static constexpr std::int64_t kRowUnit = 12, kColumnBytes = 128;
};

enum class Function { Exp, Tanh, Sigmoid, Erf, Silu, GeluErf, GeluTanh };

namespace simd {

using Index = std::int64_t;

// y[i] = f(x[i]); y may be x
template <class T>
void function(Function f, Index n, const T* x, T* y);
// The largest element, -∞ for none; NaN counts for nothing
template <class T>
T largest(Index n, const T* x);
// Σ e^{x - m}, and e^{x - m} in y unless that is null
template <class T>
T sum_of_exponentials(Index n, T m, const T* x, T* y);

// y[r][c] += bias[c] unless null, then max(0, ·) if relu
template <class T>
void add_bias(Index rows, Index n, const T* bias, bool relu, T* y, Index ld);
// y[i] = addend[i] + (dropped(first + i) ? 0 : scale·x[i]); addend may be null, y may be x
template <class T>
void dropout(const DropSpec& drop, Index first, Index n, const T* x, const T* addend, T* y);

// Products; tensor/matmul/plan.hpp says which is for what.
//
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
// The same for few rows of a. `scratch` has few_rows_scratch(m, k) elements.
template <class T>
void few_rows_product(Index m, Index n, Index k, Index depth, T alpha, const T* a, Index lda,
                      const T* b, Index ldb, T beta, T* c, Index ldc, T* scratch);
// The same for rows of up to kShortRow<T> elements, with AVX-512 alone
template <class T>
void short_rows_product(Index m, Index n, Index k, T alpha, const T* a, Index lda, const T* b,
                        Index ldb, T beta, T* c, Index ldc);
// c = alpha op(a) op(b) + beta c, packed. `scratch` has depth·(rows + columns) elements.
template <class T>
void packed_product(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha,
                    const T* a, Index lda, const T* b, Index ldb, T beta, T* c, Index ldc,
                    const PackedBlocks& blocks, T* scratch);

}  // namespace simd

inline constexpr std::int64_t kPanelRows = 96;  // rows of b whose products wait to be transposed
template <class T>
inline constexpr std::int64_t kShortRow = 64 / sizeof(T);
constexpr std::int64_t few_rows_scratch(std::int64_t m, std::int64_t k) {
  return (m + 15) / 16 * 16 * (k + kPanelRows);
}

}  // namespace glim
