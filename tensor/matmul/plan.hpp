// How a product of matrices is computed: by which algorithm, in which blocks, and cut into which tiles.
//
// There are two engines. The builtin one gives the same bits on any CPU (tensor/numerics.md): the extents
// and the layout decide whether an element of c is a dot product in lanes or a sum along k in blocks. OpenBLAS computes large
// products in its place if use_gemm_engine or the environment's GLIM_GEMM selects it; its bits depend on the CPU.
#pragma once

#include <string_view>

#include "tensor/shape.hpp"

namespace glim {

// Which GEMM computes large products.
enum class GemmEngine { Builtin, OpenBlas };
std::string_view name_of(GemmEngine engine);
// "builtin", "openblas", or null for the default, which is Builtin; ValueError naming GLIM_GEMM for another word.
GemmEngine choose_gemm_engine(const char* name);
// The last choice of use_gemm_engine; before it, that of GLIM_GEMM.
GemmEngine gemm_engine();
void use_gemm_engine(GemmEngine engine);

// How float32 operands of products are read: as they are, or rounded to bfloat16, but for products with an extent below
// 32 (tensor/numerics.md). The names are PyTorch's (torch.set_float32_matmul_precision).
enum class MatmulPrecision { Highest, Medium };
std::string_view name_of(MatmulPrecision precision);
// "highest" or "medium"; ValueError for another word.
MatmulPrecision matmul_precision_of(std::string_view name);
MatmulPrecision float32_matmul_precision();
// StateError for Medium with OpenBLAS, or in a build without tensor/fast.
void set_float32_matmul_precision(MatmulPrecision precision);
// StateError of a check of float32 numbers with Medium, whose rounding it would judge.
void require_highest_precision(std::string_view op);

// The first five read the larger matrix in place (tensor/fast/skinny.hpp).
enum class Algorithm {
  EmptySum,   // k = 0: c = beta c
  Vector,     // a or b is a vector
  Dots,       // a bᵀ for very few rows of a, as in decoding
  ShortRows,  // a bᵀ, rows no longer than a vector register, as in narrow heads
  FewRows,    // a bᵀ for few rows of a
  Packed,     // our own in blocks (tensor/fast/packed.hpp); a sum does not depend on the tiles
  Bfloat16,   // likewise, of operands rounded to bfloat16 (tensor/fast/bfloat16.hpp)
  Blas,
};
// The fastest for these extents, at least 1 but for k, of a whole product before it is cut into tiles.
// ShortRows, FewRows and Packed give the same bits.
template <class T>
Algorithm algorithm_for(bool transpose_a, bool transpose_b, Index m, Index n, Index k,
                        GemmEngine large = gemm_engine());

// c = alpha op(a) op(b) + beta c      op(a) (m, k)   op(b) (k, n)   c (m, n)
//
// Row-major; op transposes where asked; ld* is the distance between rows as stored.
template <class T>
struct Gemm {
  bool transpose_a, transpose_b;
  Index m, n, k;
  T alpha;
  const T* a;
  Index lda;
  const T* b;
  Index ldb;
  T beta;
  T* c;
  Index ldc;
};
// One product on this thread.
template <class T>
void multiply(Algorithm algorithm, const Gemm<T>& p);

// StateError in a build without tensor/fast.
void require_bfloat16();

// How far the blocks of the inner dimension reach.
Index block_depth(Index k, Index element_bytes);
// The blocks of Algorithm::Packed.
struct PackedBlocks;
PackedBlocks packed_blocks(Index m, Index n, Index k, Index element_bytes);
// The blocks of Algorithm::Bfloat16, without and with AMX. They do not show in the bits.
PackedBlocks bfloat16_blocks(Index m, Index n, Index k);
PackedBlocks amx_blocks(Index m, Index n, Index k);

// The result is cut into tiles, each the work of one thread over the whole inner dimension.
struct Tiles {
  Index rows, columns;
  Index together;  // how many of them, of all batches, a thread takes at a time
};
// Only Packed and Bfloat16 look at the number of threads. The tiles of the others depend on the extents alone, so that
// the number of threads does not show in the bits.
Tiles tiles_for(Algorithm algorithm, Index m, Index n, Index k, Index batches, int threads);

}  // namespace glim
