// The product of tensor/fast/bfloat16.hpp by AMX: its instruction TDPBF16PS adds the product of 16 rows and 32 k of a
// and 16 columns of b to 16 × 16 sums, in the order that bfloat16.hpp computes step by step.
//
// Operands are packed as bfloat16, in panels of 32 rows or columns, which are two tiles of 1 KiB for each step of 32 k:
//
//   a   [step][tile][16 rows][32 k]               b   [step][tile][16 pairs of k][16 columns][2]
//
// Four tiles of sums, two of a and two of b are the eight tile registers: each loaded tile is used twice. A panel of b
// stays in the first cache while the panels of a pass by, from the second.
#pragma once

#include "tensor/fast/bfloat16.hpp"

namespace glim::GLIM_ISA {

#if defined(__AVX512F__)
#define GLIM_AMX __attribute__((target("amx-tile,amx-bf16,avx512bf16")))
#define GLIM_AMX_INLINE [[gnu::always_inline]] GLIM_AMX static inline

inline constexpr Index kPanel = 32, kTileBytes = 1024, kStepBytes = 2 * kTileBytes;

// 16 numbers of each, as bfloat16: x in the lower half.
GLIM_AMX_INLINE __m512i both_rounded(__m512 x, __m512 y) {
  return (__m512i)_mm512_cvtne2ps_pbh(y, x);
}
// x and y in turn.
GLIM_AMX_INLINE Vec<float> pairs_rounded(Vec<float> x, Vec<float> y) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return (Vec<float>)_mm512_permutexvar_epi16(order, both_rounded((__m512)x, (__m512)y));
}

// One tile: up to 16 rows or columns of x and 32 k, zeros beyond. `transposed`: memory holds rows of k. As a: a row of
// the tile is a row of x. As b: it is a pair of k.
template <bool transposed, bool as_b, bool whole>
GLIM_AMX_INLINE void pack_amx_tile(Index rows, Index k, const float* x, Index ld, char* tile) {
  constexpr Index kDown = transposed ? 2 : 1, kAcross = transposed ? 0 : 16;
  const Index high = transposed ? k : rows, wide = transposed ? rows : k;
  Vec<float> v[16];
#pragma GCC unroll 16
  for (Index i = 0; i < 16; ++i) {  // two neighbours: rows of k, or halves of a row
    const float *first = x + kDown * i * ld, *second = first + (transposed ? ld : 16);
    Vec<float> low{}, high_half{};
    if (whole || kDown * i < high) low = whole ? load<float>(first) : at<float>(first, 0, wide);
    if (whole || (transposed ? 2 * i + 1 < high : i < high && wide > 16))
      high_half = whole ? load<float>(second) : at<float>(second, 0, wide - kAcross);
    v[i] = transposed ? pairs_rounded(low, high_half)
                      : (Vec<float>)both_rounded((__m512)low, (__m512)high_half);
  }
  if constexpr (transposed != as_b) transpose<float>(v);
#pragma GCC unroll 16
  for (Index i = 0; i < 16; ++i) store<float>((float*)(tile + 64 * i), v[i]);
}
template <bool transposed, bool as_b>
GLIM_AMX static void pack_amx(Index m, Index depth, const float* x, Index ld, char* packed) {
  for (Index r = 0; r < m; r += kPanel)
    for (Index i = 0; i < depth; i += kStep)
      for (Index h = r; h < r + kPanel; h += 16, packed += kTileBytes) {
        const float* corner = x + (transposed ? i * ld + h : h * ld + i);
        if (m - h >= 16 && depth - i >= kStep)
          pack_amx_tile<transposed, as_b, true>(16, kStep, corner, ld, packed);
        else
          pack_amx_tile<transposed, as_b, false>(m > h ? m - h : 0, depth - i, corner, ld, packed);
      }
}

// Tiles are loaded when the one before them has been used, so the next step's are fetched into the first cache: 1.15
// of the rate without.
GLIM_INLINE void fetch_tile(const char* tile) {
#pragma GCC unroll 16
  for (int row = 0; row < 16; ++row) __builtin_prefetch(tile + 64 * row, 0, 3);
}

// The sums of 16 R rows and 16 V columns over `steps` of k.
template <int R, int V>
GLIM_AMX_INLINE void amx_steps(Index steps, const char* a, const char* b, const float* start,
                               Index ld_start, float* into, Index ld_into) {
  const Index row = ld_start * 4, target_row = ld_into * 4;
  if (start) {
    _tile_loadd(0, start, row);
    if constexpr (V == 2) _tile_loadd(1, start + 16, row);
    if constexpr (R == 2) _tile_loadd(2, start + 16 * ld_start, row);
    if constexpr (R * V == 4) _tile_loadd(3, start + 16 * ld_start + 16, row);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (Index r = 0; r < 16 * R; ++r)
    for (Index v = 0; v < V; ++v) __builtin_prefetch(into + r * ld_into + 16 * v, 1, 3);
  for (Index i = 0; i < steps; ++i, a += kStepBytes, b += kStepBytes) {
    _tile_loadd(6, b, 64);
    _tile_loadd(4, a, 64);
    fetch_tile(a + kStepBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (V == 2) _tile_loadd(7, b + kTileBytes, 64);
    fetch_tile(b + kStepBytes);
    if constexpr (V == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (R == 2) _tile_loadd(5, a + kTileBytes, 64);
    fetch_tile(a + kStepBytes + kTileBytes);
    if constexpr (R == 2) _tile_dpbf16ps(2, 5, 6);
    fetch_tile(b + kStepBytes + kTileBytes);
    if constexpr (R * V == 4) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, into, target_row);
  if constexpr (V == 2) _tile_stored(1, into + 16, target_row);
  if constexpr (R == 2) _tile_stored(2, into + 16 * ld_into, target_row);
  if constexpr (R * V == 4) _tile_stored(3, into + 16 * ld_into + 16, target_row);
}

GLIM_AMX static void amx_tile(Index steps, const char* a, const char* b, const SumTarget& target) {
  const Index rows = target.rows < kPanel ? target.rows : kPanel;
  const Index columns = target.columns < kPanel ? target.columns : kPanel;
  const bool whole = rows == kPanel && columns == kPanel;
  const bool plain = !target.last || (target.alpha == 1 && target.beta == 0);
  alignas(64) float buffer[kPanel * kPanel];
  const float* start = target.first ? nullptr : target.sums;
  if (start && !whole) {
    for (Index r = 0; r < rows; ++r)
      for (Index j = 0; j < columns; j += 16)
        store<float>(buffer + r * kPanel + j, at<float>(start + r * target.ld_sums, j, columns));
    start = buffer;
  }
  const Index ld_start = start == buffer ? kPanel : target.ld_sums;
  float* into = target.last ? target.c : target.sums;
  const Index ld_into = target.last ? target.ldc : target.ld_sums;
  if (whole && plain) return amx_steps<2, 2>(steps, a, b, start, ld_start, into, ld_into);
  if (rows > 16 && columns > 16)
    amx_steps<2, 2>(steps, a, b, start, ld_start, buffer, kPanel);
  else if (rows > 16)
    amx_steps<2, 1>(steps, a, b, start, ld_start, buffer, kPanel);
  else if (columns > 16)
    amx_steps<1, 2>(steps, a, b, start, ld_start, buffer, kPanel);
  else
    amx_steps<1, 1>(steps, a, b, start, ld_start, buffer, kPanel);
  for (Index r = 0; r < rows; ++r)
    for (Index j = 0; j < columns; j += 16)
      write_sums(target, load<float>(buffer + r * kPanel + j), into + r * ld_into + j, columns - j);
}

[[gnu::noinline]] GLIM_AMX static void multiply_by_amx(const Bfloat16Product& p, char* scratch) {
  struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shapes;
  _tile_loadconfig(&shapes);
  const PackedBlocks& blocks = p.blocks;
  char *panels = scratch, *rows = scratch + 2 * blocks.depth * blocks.columns;
  for (Index l = 0; l < p.k; l += blocks.depth) {
    const Index depth = p.k - l < blocks.depth ? p.k - l : blocks.depth;
    const Index steps = (depth + kStep - 1) / kStep;
    for (Index j = 0; j < p.n; j += blocks.columns) {
      const Index wide = p.n - j < blocks.columns ? p.n - j : blocks.columns;
      if (p.transpose_b)
        pack_amx<false, true>(wide, depth, p.b + j * p.ldb + l, p.ldb, panels);
      else
        pack_amx<true, true>(wide, depth, p.b + l * p.ldb + j, p.ldb, panels);
      for (Index i = 0; i < p.m; i += blocks.rows) {
        const Index high = p.m - i < blocks.rows ? p.m - i : blocks.rows;
        if (p.transpose_a)
          pack_amx<true, false>(high, depth, p.a + l * p.lda + i, p.lda, rows);
        else
          pack_amx<false, false>(high, depth, p.a + i * p.lda + l, p.lda, rows);
        for (Index q = 0; q < wide; q += kPanel)
          for (Index r = 0; r < high; r += kPanel)
            amx_tile(steps, rows + r / kPanel * steps * kStepBytes,
                     panels + q / kPanel * steps * kStepBytes,
                     {p.alpha, p.beta, p.c + (i + r) * p.ldc + j + q,
                      p.sums + (i + r) * p.ld_sums + j + q, p.ldc, p.ld_sums, high - r, wide - q,
                      l == 0, l + depth == p.k});
      }
    }
  }
  _tile_release();
}
void amx_product(const Bfloat16Product& p, float* scratch) {
  const FlushSubnormals flush;
  multiply_by_amx(p, (char*)scratch);
}
#else
void amx_product(const Bfloat16Product&, float*) { __builtin_trap(); }  // amx() is None
#endif

}  // namespace glim::GLIM_ISA
