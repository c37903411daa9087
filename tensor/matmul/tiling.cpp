#include "tensor/matmul/tiling.hpp"

#include <algorithm>
#include <utility>

namespace glim {
namespace {
// A product that reads in place packs nothing, follows others without a pause (decoding), and is
// cut from a smaller size on.
constexpr double kSmall = 1 << 22, kSmallInPlace = 1 << 20, kTile = 1 << 26;

double product(Index x, Index y, Index z) {
  return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
}
}  // namespace

Cost cost_of(Index m, Index n, Index k, Index batches, bool in_place) {
  k = std::max<Index>(k, 1);
  if (in_place)
    return {m < n ? product(std::max<Index>(m, 16), n, k) : product(m, std::max<Index>(n, 16), k),
            true};
  return {product(m, n, k) * static_cast<double>(batches), false};
}

bool small(const Cost& cost) { return cost.total <= (cost.in_place ? kSmallInPlace : kSmall); }

// Tiles of about 2^26 multiplications, at most 4 (more where a tile would exceed 2^28) for all
// batches together. BLAS packs a tile's rows of a for each column of tiles, and its columns of b for
// each row of tiles: beside its m·n·k multiplications a tile costs m·k + n·k, so 1/rows + 1/columns
// is to be small. Packing is a sixth of the time of a Transformer's products in 8 tiles; 4, still
// enough for 4 threads, take 0.95 of the time at d 512.
Tiling tiling(Index m, Index n, const Cost& cost, Index batches) {
  if (small(cost)) return {m, n};
  double work = cost.total / static_cast<double>(batches);
  auto [unit, most] = cost.in_place ? std::pair{kSmallInPlace, 8.0} : std::pair{kTile, 4.0};
  double count = std::max(std::clamp(work / unit, 2.0, most), std::min(work / (1 << 28), 32.0));
  auto wanted = static_cast<Index>(count) / batches;
  if (wanted <= 1) return {m, n};
  wanted += wanted % 2;                        // an even number shares evenly
  auto cut = [](Index extent, Index pieces) {  // even pieces, multiples of what dropout draws
    return std::min(extent, ((extent + pieces - 1) / pieces + 31) / 32 * 32);
  };
  Tiling best{m, n};
  double least = 4;
  for (Index down = 1; down <= wanted; ++down) {
    Index rows = cut(m, down);
    Index across = (m + rows - 1) / rows;
    Index columns = cut(n, (wanted + across - 1) / across);
    double packing = 1 / static_cast<double>(rows) + 1 / static_cast<double>(columns);
    Index tiles = across * ((n + columns - 1) / columns);
    if (tiles < wanted) packing += 1;  // cut as far as 32 allows, when nothing better is left
    if (packing < least) {
      least = packing;
      best = {rows, columns};
    }
  }
  return best;
}

// Beside its rows·columns·k multiplications a tile costs the packing of (rows + columns)·k elements,
// each of which takes as long as some 20. A tile is at least 2^21 multiplications (some 25 µs).
Tiling tiling_for(int threads, Index m, Index n, const Cost& cost, Index batches) {
  if (small(cost)) return {m, n};
  double most = std::min(static_cast<double>((threads + batches - 1) / batches),
                         cost.total / static_cast<double>(batches) / (1 << 21));
  auto cut = [](Index extent, Index pieces, Index unit) {
    return std::min(extent, ((extent + pieces - 1) / pieces + unit - 1) / unit * unit);
  };
  Tiling best{m, n};
  double least = 0;
  for (Index down = 1; down <= std::max<Index>(1, static_cast<Index>(most)); ++down)
    for (Index across = 1; down * across <= std::max(1.0, most); ++across) {
      Index rows = cut(m, down, 12), columns = cut(n, across, 32);
      Index tiles = ((m + rows - 1) / rows) * ((n + columns - 1) / columns) * batches;
      double rounds = static_cast<double>((tiles + threads - 1) / threads);
      double time = rounds * (product(rows, columns, 1) + 20 * static_cast<double>(rows + columns));
      if (least == 0 || time < least) {
        least = time;
        best = {rows, columns};
      }
    }
  return best;
}

}  // namespace glim
