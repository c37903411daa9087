#include "tensor/matmul/plan.hpp"

#include <algorithm>
#include <utility>

#include "tensor/fast/products.hpp"

namespace glim {
namespace {

double product(Index x, Index y, Index z) {
  return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
}
Index ceil_div(Index extent, Index piece) { return (extent + piece - 1) / piece; }
Index rounded_up(Index x, Index unit) { return ceil_div(x, unit) * unit; }
// The extent of about even pieces, a multiple of `unit`.
Index even_piece(Index extent, Index pieces, Index unit) {
  return std::min(extent, rounded_up(ceil_div(extent, pieces), unit));
}

// ---- the algorithm ----

constexpr Index kDotRows = 8;
constexpr Index kLeastBfloat16 = 32;  // rows, columns and depth; small models are slower with 16

// True if few_rows_product is faster than a packed one, as measured with each instruction set.
bool few_rows_are_faster(Isa isa, Index m, Index n, Index k) {
  return m <= (isa == Isa::Avx2 ? 64 : 128) && n * k >= 4096;
}

}  // namespace

template <class T>
Algorithm algorithm_for(bool transpose_a, bool transpose_b, Index m, Index n, Index k,
                        GemmEngine large) {
  const Isa isa = best_isa();
  if (k == 0) return Algorithm::EmptySum;
  if (m == 1 || n == 1) return Algorithm::Vector;
  if (sizeof(T) == 4 && float32_matmul_precision() == MatmulPrecision::Medium &&
      std::min({m, n, k}) >= kLeastBfloat16)
    return Algorithm::Bfloat16;
  if (!transpose_a && transpose_b) {
    if (m <= kDotRows && k > kShortRow<T>) return Algorithm::Dots;
    if (k <= kShortRow<T> && isa == Isa::Avx512) return Algorithm::ShortRows;
    if (few_rows_are_faster(isa, m, n, k)) return Algorithm::FewRows;
  }
  return large == GemmEngine::Builtin ? Algorithm::Packed : Algorithm::Blas;
}
template Algorithm algorithm_for<float>(bool, bool, Index, Index, Index, GemmEngine);
template Algorithm algorithm_for<double>(bool, bool, Index, Index, Index, GemmEngine);

// ---- its blocks ----

// In float: 256 along the inner dimension, so that a panel of b's 32 columns takes 32 KiB of the first cache;
// 192 rows of a and up to 512 columns of b, 0.7 MiB in the second. How k is divided depends on k alone.
Index block_depth(Index k, Index element_bytes) {
  Index pieces = ceil_div(k, 1024 / element_bytes);
  return rounded_up(ceil_div(k, pieces), 16);
}
PackedBlocks packed_blocks(Index m, Index n, Index k, Index element_bytes) {
  constexpr Index kRows = 192, kColumns = 512;
  return {block_depth(k, element_bytes), std::min(rounded_up(m, PackedBlocks::kRowUnit), kRows),
          std::min(rounded_up(n, PackedBlocks::kColumnBytes / element_bytes), kColumns)};
}

PackedBlocks bfloat16_blocks(Index m, Index n, Index k) {
  PackedBlocks blocks = packed_blocks(m, n, k, sizeof(float));
  blocks.depth = std::min<Index>(rounded_up(k, 32), 256);
  return blocks;
}
// 1024 along the inner dimension, so that the sums of a tile are seldom read again; 256 rows of a, 512 KiB of the second
// cache. Columns of b may come from the third: a panel of theirs is read once for all these rows.
PackedBlocks amx_blocks(Index m, Index n, Index k) {
  return {std::min<Index>(rounded_up(k, 32), 1024), std::min<Index>(rounded_up(m, 32), 256),
          std::min<Index>(rounded_up(n, 32), 2048)};
}

// ---- its tiles ----

namespace {
// A product of up to so many multiplications (some 40 µs) is not worth waking other threads for. One that
// reads in place is cut from a smaller size on: it packs nothing, and in decoding one follows the other at
// once.
constexpr double kSmall = 1 << 22, kSmallInPlace = 1 << 20;

// The cost of all batches, in multiplications at BLAS's rate (some 10 µs for 2^20). An element of a matrix
// that is read in place, from beyond the caches, takes as long as 16 multiplications.
double cost_of(bool in_place, Index m, Index n, Index k, Index batches) {
  if (!in_place) return product(m, n, k) * static_cast<double>(batches);
  return m < n ? product(std::max<Index>(m, 16), n, k) : product(m, std::max<Index>(n, 16), k);
}

// Tiles of about 2^26 multiplications, at most 4 of them (more where a tile would exceed 2^28) for all
// batches together. BLAS packs the rows of a anew for each column of tiles, and the columns of b for each
// row of tiles. So a tile costs m·k + n·k beside its m·n·k multiplications, and 1/rows + 1/columns should
// be small. In 8 tiles, packing takes a sixth of the time of a Transformer's products. 4 tiles take 0.95 of
// the time of 8 at d 512, and are still enough for 4 threads.
Tiles tiles_for_any_threads(bool in_place, Index m, Index n, double cost, Index batches) {
  double work = cost / static_cast<double>(batches);
  auto [unit, most] = in_place ? std::pair{kSmallInPlace, 8.0} : std::pair{0x1p26, 4.0};
  double count = std::max(std::clamp(work / unit, 2.0, most), std::min(work / (1 << 28), 32.0));
  auto tiles = static_cast<Index>(count) / batches;
  Tiles best{m, n, 0};
  if (tiles <= 1) return best;
  tiles += tiles % 2;  // an even number shares evenly
  double least = 4;
  for (Index down = 1; down <= tiles; ++down) {  // pieces that are multiples of what dropout draws
    Index rows = even_piece(m, down, 32);
    Index across = ceil_div(m, rows);
    Index columns = even_piece(n, ceil_div(tiles, across), 32);
    double packing = 1 / static_cast<double>(rows) + 1 / static_cast<double>(columns);
    // Cut as far as 32 allows, when nothing better is left.
    if (across * ceil_div(n, columns) < tiles) packing += 1;
    if (packing < least) {
      least = packing;
      best = {rows, columns, 0};
    }
  }
  return best;
}

// Beside its rows·columns·k multiplications a tile costs the packing of (rows + columns)·k elements.
// Packing one takes as long as some 20 multiplications. A tile has at least 2^21 of them (some 25 µs).
Tiles tiles_for_threads(int threads, Index m, Index n, double cost, Index batches) {
  double most = std::min(static_cast<double>(ceil_div(threads, batches)),
                         cost / static_cast<double>(batches) / (1 << 21));
  Tiles best{m, n, 0};
  double least = 0;
  for (Index down = 1; down <= std::max<Index>(1, static_cast<Index>(most)); ++down)
    for (Index across = 1; down * across <= std::max(1.0, most); ++across) {
      Index rows = even_piece(m, down, 12), columns = even_piece(n, across, 32);
      Index tiles = ceil_div(m, rows) * ceil_div(n, columns) * batches;
      double rounds = static_cast<double>(ceil_div(tiles, threads));
      double time = rounds * (product(rows, columns, 1) + 20 * static_cast<double>(rows + columns));
      if (least == 0 || time < least) {
        least = time;
        best = {rows, columns, 0};
      }
    }
  return best;
}

}  // namespace

Tiles tiles_for(Algorithm algorithm, Index m, Index n, Index k, Index batches, int threads) {
  bool in_place = batches == 1 && algorithm < Algorithm::Packed;
  double cost = cost_of(in_place, m, n, std::max<Index>(k, 1), batches);
  if (cost <= (in_place ? kSmallInPlace : kSmall)) return {m, n, batches};
  const bool packed = algorithm == Algorithm::Packed || algorithm == Algorithm::Bfloat16;
  Tiles t = packed ? tiles_for_threads(threads, m, n, cost, batches)
                   : tiles_for_any_threads(in_place, m, n, cost, batches);
  Index tiles = batches * ceil_div(m, t.rows) * ceil_div(n, t.columns);
  t.together = static_cast<Index>(std::max(1.0, (1 << 20) / (cost / static_cast<double>(tiles))));
  return t;
}

}  // namespace glim
