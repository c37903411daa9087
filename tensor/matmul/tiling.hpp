// How a matrix product (m, k) (k, n) is cut into tiles of its result, each the work of one thread.
#pragma once

#include "tensor/shape.hpp"

namespace glim {

// What a product costs, in multiplications at BLAS's rate (some 10 µs for 2^20). Where the second
// matrix is read in place, an element of it from beyond the caches takes as long as 16 of them.
struct Cost {
  double total;  // of all batches
  bool in_place;
};
Cost cost_of(Index m, Index n, Index k, Index batches, bool in_place);

// A product so small (some 40 µs) that other threads are not worth waking.
bool small(const Cost& cost);

struct Tiling {
  Index rows, columns;
};
// Tiles that depend on the shapes alone, so that the number of threads does not show in the bits.
Tiling tiling(Index m, Index n, const Cost& cost, Index batches);

// Tiles for so many threads, for a product whose bits do not depend on the tiles.
Tiling tiling_for(int threads, Index m, Index n, const Cost& cost, Index batches);

}  // namespace glim
