// How a product of matrices is computed: by which algorithm, in which blocks, and cut into which tiles.
//
//   c = alpha op(a) op(b) + beta c      op(a) (m, k)   op(b) (k, n)   c (m, n)
//
// The extents and the CPU decide, and nothing that varies from run to run: a choice by a measurement at run
// time would turn with its noise, and with it the bits. GLIM_PRODUCTS in the environment ("own", "openblas")
// overrides the choice for large products; ValueError for another word, and for "own" without AVX2.
#pragma once

#include <string>
#include <string_view>

#include "tensor/shape.hpp"
#include "tensor/simd/isa.hpp"
#include "tensor/simd/kernels.hpp"

namespace glim {

// Whose product computes large matrices.
enum class Products { Own, OpenBlas };
std::string_view name_of(Products products);

// As cpuid tells it: "AuthenticAMD", 0x19; empty and 0 where there is none. `widest` of what it runs tells
// Zen 3 from Zen 4.
struct CpuKind {
  std::string vendor;
  int family = 0;
  Isa widest = Isa::Baseline;
};
CpuKind cpu_kind();

struct ProductChoice {
  Products products;
  std::string reason;
};
// `asked`: the value of GLIM_PRODUCTS, or null.
ProductChoice choose_products(const CpuKind& cpu, Isa isa, const char* asked);

const ProductChoice& product_choice();  // the one in use

// The first five read their operands where they lie (tensor/matmul/skinny.hpp).
enum class Algorithm {
  EmptySum,      // k = 0: c = beta c
  WeightedRows,  // one row of a weights the rows of a small b, as a head's context does
  Vector,        // a or b is a vector
  ShortRows,     // a bᵀ, rows no longer than a vector register, as in narrow heads
  FewRows,       // a bᵀ for few rows of a, as in decoding
  Packed,        // our own in blocks (tensor/matmul/packed.hpp); a sum does not depend on the tiles
  Blas,
};
// The fastest for these extents, at least 1 but for k, of a whole product before it is cut into tiles.
template <class T>
Algorithm algorithm_for(bool transpose_a, bool transpose_b, Index m, Index n, Index k,
                        Products large = product_choice().products);

// The blocks of Algorithm::Packed.
PackedBlocks packed_blocks(Index m, Index n, Index k, Index element_bytes);

// The result is cut into tiles, each the work of one thread over the whole inner dimension.
struct Tiles {
  Index rows, columns;
  Index together;  // how many of them, of all batches, a thread takes at a time
};
// Only Packed looks at the number of threads. The tiles of the others depend on the extents alone, so that
// the number of threads does not show in the bits.
Tiles tiles_for(Algorithm algorithm, Index m, Index n, Index k, Index batches, int threads);

}  // namespace glim
