// c = alpha S + beta c, S = op(a) op(b) with operands rounded to bfloat16, as AMX's TDPBF16PS computes it
// (tensor/numerics.md has the recipe). Blocks, panels and their packing are those of tensor/fast/packed.hpp.
//
//   op(a) (m, k)   op(b) (k, n)   c (m, n)      row-major, rows ld* apart as stored
//
//   S = 0;  for each 32 of k:  e = Σ a b over its even k,  o = Σ a b over its odd k,  S = S + (e + o)
//
// e and o are chains of 16 fused multiply-adds from 0. Subnormal numbers count as 0, whether read or computed. The
// panels hold the rounded operands as float32, so they are unpacked once. 24 chains are in registers with AVX-512, 12
// otherwise; S waits in the first cache.
#pragma once

#include "tensor/fast/packed.hpp"

namespace glim::GLIM_ISA {

// x rounded to the nearest bfloat16, ties to even. Subnormal numbers become 0, NaN stays NaN.
GLIM_INLINE Vec<float> rounded_to_bfloat16(Vec<float> x) {
  typedef std::uint32_t Bits __attribute__((vector_size(kVectorBytes)));
  const Bits u = (Bits)x, size = u & 0x7fffffff;
  Bits y = (u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000;
  y = size > 0x7f800000 ? (u | 0x400000) & 0xffff0000 : y;
  return (Vec<float>)(size < 0x800000 ? u & 0x80000000 : y);
}
GLIM_INLINE void round_panels(float* panels, Index count) {
  for (Index i = 0; i < count; i += kLanes<float>)
    store<float>(panels + i, rounded_to_bfloat16(load<float>(panels + i)));
}

#if defined(__SSE2__)
GLIM_INLINE Vec<float> flushed(Vec<float> x) { return x; }  // by FlushSubnormals
GLIM_INLINE Vec<float> flushed_multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
  return multiply_add<float>(a, b, c);
}
struct FlushSubnormals {
  static constexpr unsigned kReadAndComputed = 0x8040;
  unsigned before = _mm_getcsr();
  FlushSubnormals() { _mm_setcsr(before | kReadAndComputed); }
  ~FlushSubnormals() { _mm_setcsr(before); }
};
#else
struct FlushSubnormals {
  FlushSubnormals() {}  // as by hand, below
};
GLIM_INLINE Vec<float> flushed(Vec<float> x) {
  const IntVec<float> sign = (IntVec<float>)x & static_cast<std::int32_t>(0x80000000);
  return x < 0x1p-126f && x > -0x1p-126f ? (Vec<float>)sign : x;
}
// x86 decides before it has rounded to fewer digits what is subnormal: a sum below 2^-126 (1 - 2^-25) in size, which
// float32 rounds up to 2^-126 if it has to.
GLIM_INLINE Vec<float> flushed_multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
  Vec<float> y = multiply_add<float>(a, b, c);
  for (Index i = 0; i < kLanes<float>; ++i)
    if (y[i] == 0x1p-126f || y[i] == -0x1p-126f) {
      const double sign = y[i] > 0 ? 1 : -1, p = sign * a[i] * b[i];
      if (p < 0x1p-126 - 0x1p-151 - sign * c[i]) y[i] *= 0.0f;
    }
  return flushed(y);
}
#endif

inline constexpr Index kChainRows = kTileRows / 2, kChainColumns = kTileColumns<float>;
inline constexpr Index kStep = 32;  // of k, for one S + (e + o)

// Where S is kept from block to block of k, and how it is written after the last.
struct SumTarget {
  float alpha, beta;
  float *c, *sums;
  Index ldc, ld_sums, rows, columns;
  bool first, last;
};

// A vector of sums at its place of c, or of `sums` before the last block.
GLIM_INLINE void write_sums(const SumTarget& target, Vec<float> sum, float* c, Index count) {
  if (target.last && target.alpha != 1)
    sum = flushed_multiply_add(splat<float>(target.alpha), sum, Vec<float>{});
  if (target.last && target.beta != 0)
    sum = flushed_multiply_add(splat<float>(target.beta), flushed(at<float>(c, 0, count)), sum);
  put<float>(c, 0, count, sum);
}

// kChainRows rows of a panel of a times the columns of a panel of b.
GLIM_INLINE void chain_tile(Index depth, const float* a, const float* b, const SumTarget& target) {
  constexpr Index R = kChainRows, V = 2, L = kLanes<float>;
  alignas(64) float sums[R][V * L];
  const bool whole = target.rows >= R && target.columns >= V * L;
  // The vectors of the tile that c has, with their number of elements.
  auto each_vector = [&](const auto& f) __attribute__((always_inline)) {
    for (Index r = 0; r < R; ++r)
      for (Index v = 0; v < V; ++v)
        if (whole || (r < target.rows && v * L < target.columns))
          f(r, v * L, whole ? L : target.columns - v * L);
  };
  if (target.first)
    for (auto& row : sums)
      for (Index v = 0; v < V; ++v) store<float>(row + v * L, Vec<float>{});
  else
    each_vector([&](Index r, Index j, Index count) __attribute__((always_inline)) {
      store<float>(sums[r] + j, at<float>(target.sums + r * target.ld_sums + j, 0, count));
    });
  for (Index begin = 0; begin < depth; begin += kStep) {
    const Index count = depth - begin < kStep ? depth - begin : kStep;
    Vec<float> chain[2][R][V] = {};
    auto step = [&](Index odd) __attribute__((always_inline)) {
      Vec<float> right[V];
      for (Index v = 0; v < V; ++v) right[v] = load<float>(b + v * L);
#pragma GCC unroll 6
      for (Index r = 0; r < R; ++r) {
        const Vec<float> left = splat<float>(a[r]);
#pragma GCC unroll 2
        for (Index v = 0; v < V; ++v)
          chain[odd][r][v] = flushed_multiply_add(left, right[v], chain[odd][r][v]);
      }
      a += kTileRows;
      b += kChainColumns;
    };
    Index i = 0;
    for (; i + 2 <= count; i += 2) step(0), step(1);
    if (i < count) step(0);
#pragma GCC unroll 6
    for (Index r = 0; r < R; ++r)
#pragma GCC unroll 2
      for (Index v = 0; v < V; ++v) {
        // Beyond the last k a is 0, and b: one more multiply-add, which only turns -0 into 0.
        if (count < kStep - 1) chain[0][r][v] += 0.0f;
        if (count < kStep) chain[1][r][v] += 0.0f;
        const Vec<float> sum = flushed(chain[0][r][v] + chain[1][r][v]);
        store<float>(sums[r] + v * L, flushed(load<float>(sums[r] + v * L) + sum));
      }
  }
  each_vector([&](Index r, Index j, Index count) __attribute__((always_inline)) {
    write_sums(target, load<float>(sums[r] + j),
               target.last ? target.c + r * target.ldc + j : target.sums + r * target.ld_sums + j,
               count);
  });
}

[[gnu::noinline]] static void multiply_by_chains(const Bfloat16Product& p, float* scratch) {
  constexpr Index kColumns = kChainColumns;
  const PackedBlocks& blocks = p.blocks;
  float *panels = scratch, *rows = scratch + blocks.depth * blocks.columns;
  for (Index l = 0; l < p.k; l += blocks.depth) {
    const Index depth = p.k - l < blocks.depth ? p.k - l : blocks.depth;
    for (Index j = 0; j < p.n; j += blocks.columns) {
      const Index wide = p.n - j < blocks.columns ? p.n - j : blocks.columns;
      pack<float, kColumns>(!p.transpose_b, wide, depth,
                            p.b + (p.transpose_b ? j * p.ldb + l : l * p.ldb + j), p.ldb, panels);
      round_panels(panels, (wide + kColumns - 1) / kColumns * kColumns * depth);
      for (Index i = 0; i < p.m; i += blocks.rows) {
        const Index high = p.m - i < blocks.rows ? p.m - i : blocks.rows;
        pack<float, kTileRows>(p.transpose_a, high, depth,
                               p.a + (p.transpose_a ? l * p.lda + i : i * p.lda + l), p.lda, rows);
        round_panels(rows, (high + kTileRows - 1) / kTileRows * kTileRows * depth);
        for (Index q = 0; q < wide; q += kColumns)
          for (Index r = 0; r < high; r += kChainRows)
            chain_tile(depth, rows + r / kTileRows * kTileRows * depth + r % kTileRows,
                       panels + q * depth,
                       {p.alpha, p.beta, p.c + (i + r) * p.ldc + j + q,
                        p.sums + (i + r) * p.ld_sums + j + q, p.ldc, p.ld_sums, high - r, wide - q,
                        l == 0, l + depth == p.k});
      }
    }
  }
}
// The work is a call, so that no arithmetic moves out of the scope of the flag.
void bfloat16_product(const Bfloat16Product& p, float* scratch) {
  const FlushSubnormals flush;
  multiply_by_chains(p, scratch);
}

}  // namespace glim::GLIM_ISA
