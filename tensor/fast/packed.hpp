// c = alpha op(a) op(b) + beta c for matrices of any size, as Goto & van de Geijn (2008, "Anatomy of
// high-performance matrix multiplication") and BLIS (Van Zee & van de Geijn 2015) compute it:
//
//   for each block of the inner dimension      `depth` long
//     for each block of columns of b           packed into panels of kTileColumns, [depth][kTileColumns]
//       for each block of rows of a            packed into panels of kTileRows, [depth][kTileRows]
//         for each panel of b
//           for each panel of a                a tile of c, (kTileRows, kTileColumns), whose sums stay in
//                                              registers over the whole depth
//
//   op(a) (m, k)   op(b) (k, n)   c (m, n)      row-major, rows ld* apart as stored
//
// A panel of b stays in the first cache while the panels of a, in the second, pass by; packed, both
// are read front to back. An inner step of a tile loads 2 vectors of b and, with AVX-512, 12 elements of
// a for 24 multiply-adds of a vector; 6 for 12 with AVX2, which has half as many registers.
//
// For few columns of c a panel of a is read too few times to be worth packing: then a tile reads its
// rows in place, unless they are a multiple of 2 KiB apart, where a first cache holds but a few of them.
// Where both matrices are in a first cache, so does a tile with transposed rows and with columns of b.
//
// Each element of c is the same sum in the same order wherever a product is cut and with any instruction
// set: fused multiply-adds along k, in blocks that depend on k alone. A tile at the edge does for its elements
// what a whole one does. So, unlike with BLAS, a product may be cut for the threads there are without a
// change in its bits.
#pragma once

#include "tensor/fast/products.hpp"
#include "tensor/fast/skinny.hpp"
#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

inline constexpr Index kTileRows = kVectorBytes == 64 ? 12 : 6;
static_assert(PackedBlocks::kRowUnit % kTileRows == 0);
template <class T>
inline constexpr Index kTileColumns = kLanes<T> + kLanes<T>;  // two vectors

inline constexpr Index kNarrow = 256;  // columns
inline constexpr Index kNear = 16384;  // bytes of both matrices

// How a tile is written: c = alpha sum + beta c, for its first `columns` columns.
template <class T>
struct Target {
  T alpha, beta;
  T* c;
  Index ldc, columns;
};

// Rows of a as a tile reads them, an element of each at a step: in a panel, or in place, where rows are `ld` apart
// and their elements `across`.
template <class T>
struct Panel {
  const T* a;
  [[gnu::always_inline]] T operator[](int r) const { return a[r]; }
  [[gnu::always_inline]] void next() { a += kTileRows; }
};
template <class T>
struct InPlace {
  // Three pointers and three distances, so that all addresses fit into registers.
  const T *a0, *a4, *a8;
  Index ld, ld3, across;
  InPlace(const T* a, Index distance, Index step)
      : a0(a),
        a4(a + 4 * distance),
        a8(a + 8 * distance),
        ld(distance),
        ld3(3 * distance),
        across(step) {}
  [[gnu::always_inline]] T operator[](int r) const {
    const T* base = r < 4 ? a0 : r < 8 ? a4 : a8;
    return r % 4 == 0 ? base[0] : r % 4 == 1 ? base[ld] : r % 4 == 2 ? base[2 * ld] : base[ld3];
  }
  [[gnu::always_inline]] void next() { a0 += across, a4 += across, a8 += across; }
};

// R rows of a times V vectors of rows of b, `ldb` apart. The tile's part of c is fetched while the first steps
// run.
template <class T, int R, int V, class Rows>
GLIM_INLINE void packed_tile(Index k, Rows a, const T* b, Index ldb, const Target<T>& target) {
  constexpr Index L = kLanes<T>;
  Vec<T> sum[R][V] = {};
  auto step = [&]() __attribute__((always_inline)) {
    Vec<T> right[V];
    for (int v = 0; v < V; ++v) right[v] = load<T>(b + v * L);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      Vec<T> left = splat<T>(a[r]);
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[r][v] = multiply_add<T>(left, right[v], sum[r][v]);
    }
    a.next();
    b += ldb;
  };
  Index i = 0;
  for (const T* row = target.c; i < R && i < k; ++i, row += target.ldc) {
    for (int v = 0; v < V; ++v) __builtin_prefetch(row + v * L, 1, 3);
    step();
  }
  for (; i < k; ++i) step();
  auto write = [&](bool whole) __attribute__((always_inline)) {
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        T* place = target.c + r * target.ldc + v * L;
        bool full = whole || v + 1 < V;
        Index rest = target.columns - v * L;
        Vec<T> value = target.alpha * sum[r][v];
        if (target.beta != T(0))
          value = multiply_add<T>(splat<T>(target.beta),
                                  full ? load<T>(place) : load_part<T>(place, rest, T(0)), value);
        if (full)
          store<T>(place, value);
        else
          store_part<T>(place, value, rest);
      }
  };
  if (target.columns >= V * L)
    write(true);
  else
    write(false);
}

// to: panels of W rows of x (m, k), each [k][W], with zeros past the last row. Where memory holds xᵀ, its rows are read
// front to back for a few panels at a time: panels are W·k apart, often a multiple of 4 KiB, and a first cache holds
// only 8 to 12 lines that far from each other. A vector is stored whole where the elements that it writes beyond a
// panel's row are written again after it: a masked store takes as long as many whole ones (AVX2).
//
//   product by a transpose            time, with / without
//   8 panels of 6 and prefetching     0.9 (Zen 3)
//   whole stores                      0.7 to 0.9 (AVX2)
template <class T, Index W>
void pack(bool transposed, Index m, Index k, const T* x, Index ld, T* packed) {
  constexpr Index L = kLanes<T>, kRead = (W + L - 1) / L * L;
  constexpr Index kTogether = (W == 6 ? 8 : 4) * W;
  if (transposed) {
    for (Index first = 0; first < m; first += kTogether) {
      Index end = m - first < kTogether ? m : first + kTogether;
      const T* row = x;
      T* panels = packed + first * k;
      for (Index i = 0; i < k; ++i, row += ld, panels += W) {
        // Rows are too far apart for the processor to foresee the next.
        if constexpr (kVectorBytes < 64)
          for (Index c = first; c < end; c += 64 / sizeof(T))
            __builtin_prefetch(row + 8 * ld + c, 0, 3);
        T* panel = panels;
        auto copy = [&](Index r, auto&& get) __attribute__((always_inline)) {
          for (Index h = 0; h < W; h += L)
            if (W - h >= L || i + 1 < k)
              store<T>(panel + h, get(r + h));
            else
              store_part<T>(panel + h, get(r + h), W - h);
          panel += W * k;
        };
        Index r = first;
        for (; r < end && r + kRead <= m; r += W)
          copy(r, [&](Index c) { return load<T>(row + c); });
        for (; r < end; r += W)
          copy(r, [&](Index c) { return c < m ? at<T>(row, c, m) : Vec<T>{}; });
      }
    }
  } else {
    for (Index r = 0; r < m; r += W, packed += W * k)
      for (Index h = kRead - L; h >= 0; h -= L) {
        Index rows = m - r - h < W - h ? m - r - h : W - h;
        transpose_into<T>(rows < L ? rows : L, k, x + (r + h) * ld, ld, W - h, packed + h, W);
      }
  }
}

// Columns of b: rows `ld` apart, and each next kTileColumns of them `panel` further on.
template <class T>
struct Columns {
  const T* b;
  Index ld, panel;
};

// The tiles of a block of rows and a block of columns of c, over `depth` of the inner dimension: rows(r) gives the
// rows of a from r on.
template <class T, class Rows>
GLIM_INLINE void packed_block(Index high, Index wide, Index depth, const Rows& rows,
                              const Columns<T>& columns, Target<T> target) {
  T* corner = target.c;
  for (Index q = 0; q < wide; q += kTileColumns<T>) {
    target.columns = wide - q < kTileColumns<T> ? wide - q : kTileColumns<T>;
    const T* right = columns.b + q / kTileColumns<T> * columns.panel;
    for (Index r = 0; r < high;) {
      auto left = rows(r);
      target.c = corner + r * target.ldc + q;
      auto take = [&]<int R>() __attribute__((always_inline)) {
        if (high - r < R) return false;
        if (target.columns > kLanes<T>)
          packed_tile<T, R, 2>(depth, left, right, columns.ld, target);
        else
          packed_tile<T, R, 1>(depth, left, right, columns.ld, target);
        r += R;
        return true;
      };
      take.template operator()<kTileRows>() || take.template operator()<4>() ||
          take.template operator()<2>() || take.template operator()<1>();
    }
  }
}

template <class T>
void packed_product(bool transpose_a, bool transpose_b, Index m, Index n, Index k, T alpha,
                    const T* a, Index lda, const T* b, Index ldb, T beta, T* c, Index ldc,
                    const PackedBlocks& blocks, T* scratch) {
  constexpr Index kColumns = kTileColumns<T>, kBytes = sizeof(T);
  auto spread = [](Index ld) { return ld * kBytes % 2048 != 0; };
  const bool near = (m + n) * k * kBytes <= kNear && spread(lda) && spread(ldb);
  T* panels = scratch;
  T* rows = scratch + blocks.depth * blocks.columns;
  for (Index p = 0; p < k; p += blocks.depth) {
    Index depth = k - p < blocks.depth ? k - p : blocks.depth;
    for (Index j = 0; j < n; j += blocks.columns) {
      Index wide = n - j < blocks.columns ? n - j : blocks.columns;
      const T* right = b + (transpose_b ? j * ldb + p : p * ldb + j);
      const bool b_in_place = near && !transpose_b && wide % kLanes<T> == 0;
      const bool a_in_place = near || (!transpose_a && wide <= kNarrow && spread(lda));
      if (!b_in_place) pack<T, kColumns>(!transpose_b, wide, depth, right, ldb, panels);
      for (Index i = 0; i < m; i += blocks.rows) {
        Index high = m - i < blocks.rows ? m - i : blocks.rows;
        Target<T> target{alpha, p == 0 ? beta : T(1), c + i * ldc + j, ldc, 0};
        const T* left = a + (transpose_a ? p * lda + i : i * lda + p);
        if (a_in_place) {
          Index down = transpose_a ? 1 : lda, across = transpose_a ? lda : 1;
          packed_block<T>(
              high, wide, depth, [&](Index r) { return InPlace<T>(left + r * down, down, across); },
              b_in_place ? Columns<T>{right, ldb, kColumns}
                         : Columns<T>{panels, kColumns, kColumns * depth},
              target);
          continue;
        }
        pack<T, kTileRows>(transpose_a, high, depth, left, lda, rows);
        packed_block<T>(
            high, wide, depth,
            [&](Index r) {
              return Panel<T>{rows + r / kTileRows * kTileRows * depth + r % kTileRows};
            },
            Columns<T>{panels, kColumns, kColumns * depth}, target);
      }
    }
  }
}

}  // namespace glim::GLIM_ISA
