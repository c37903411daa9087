// Softmax of a tile of attention scores, with scale, bias and mask in the same pass.
//
//   s = scale·x + bias, -∞ where not kept      p = e^{s - max}/Σ      dp -> p (dp - Σ dp p)
#pragma once

#include "autograd/kernels/simd/op_kernels.hpp"
#include "tensor/simd/gates.hpp"
#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

// Lanes that are kept, as all ones or all zeros; lanes past `count` are not.
template <class T>
GLIM_INLINE IntVec<T> keep_lanes(const bool* keep, Index count) {
  typename Simd<T>::Bytes b{};
  if (count >= kLanes<T>) {
    __builtin_memcpy(&b, keep, kLanes<T>);
  } else {
    signed char first[kLanes<T>] = {};
    constexpr Index kHalf = kLanes<T> / 2;
    Index i = 0;
    if (count >= kHalf) __builtin_memcpy(first, keep, kHalf), i = kHalf;
    for (; i < count; ++i) first[i] = keep[i];
    __builtin_memcpy(&b, first, kLanes<T>);
  }
  return __builtin_convertvector(b, IntVec<T>) != 0;
}

// Row r of a tile: where its scores, bias and mask are.
template <class T>
struct ScoreRow {
  static constexpr Index L = kLanes<T>;
  T* x;
  const T* bias;
  const bool* keep;
  Index n;
  T scale, row_bias;
  bool kept = true;  // no decision that holds for the whole row says otherwise

  ScoreRow() = default;
  ScoreRow(const ScoreTile<T>& tile, Index r)
      : x(tile.x + r * tile.ld),
        bias(tile.bias ? tile.bias + r * tile.bias_row : nullptr),
        keep(tile.keep ? tile.keep + r * tile.keep_row : nullptr),
        n(tile.columns),
        scale(tile.scale),
        row_bias(bias && tile.bias_column == 0 ? *bias : T(0)) {
    if (tile.bias_column == 0) bias = nullptr;
    if (!keep || tile.keep_column != 0) return;
    kept = *keep;
    keep = nullptr;
  }
  // A vector of scores from the product's; lanes past the end do not count.
  Vec<T> score(Index i) const {
    constexpr T kInf = static_cast<T>(__builtin_inf());
    Vec<T> v = n - i >= L ? load<T>(x + i) : load_part<T>(x + i, n - i, -kInf);
    v = multiply_add<T>(v, scale, bias ? at<T>(bias, i, n) : splat<T>(row_bias));
    return keep ? (keep_lanes<T>(keep + i, n - i) ? v : splat<T>(-kInf)) : v;
  }
};

// R rows of at most V vectors, which stay in registers: one waits for a maximum or a sum while the
// others go on. False if one of them has nothing that counts.
template <class T, int R, int V>
bool softmax_of_rows(const ScoreTile<T>& tile, Index r) {
  constexpr Index L = kLanes<T>;
  ScoreRow<T> row[R];
  Vec<T> v[R][V];
  T top[R];
  bool all = true;
  for (int i = 0; i < R; ++i) {
    row[i] = {tile, r + i};
    for (int j = 0; j < V; ++j) v[i][j] = row[i].score(j * L);
  }
  for (int i = 0; i < R; ++i) {
    Vec<T> m = v[i][0];
    for (int j = 1; j < V; ++j) m = larger<T>(v[i][j], m);
    top[i] = max_lanes<T>(m);
    all = all & row[i].kept & (top[i] > -static_cast<T>(__builtin_inf()));
  }
  if (!all) return false;
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < V; ++j) v[i][j] = exp<T>(v[i][j] - top[i]);
  for (int i = 0; i < R; ++i) {
    Sum<T> total;
    for (int j = 0; j < V; ++j) total.part[j % kParts] += v[i][j];
    top[i] = T(1) / sum_lanes<T>(total);
  }
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < V; ++j) put<T>(row[i].x, j * L, row[i].n, v[i][j] * top[i]);
  return true;
}

template <class T>
void softmax_of_row(const ScoreRow<T>& row) {
  constexpr T kInf = static_cast<T>(__builtin_inf());
  constexpr Index L = kLanes<T>;
  T* x = row.x;
  const Index n = row.n;
  auto all_zero = [&] { each_to<T>(x, x, n, [](Index, Vec<T>) { return Vec<T>{}; }); };
  if (!row.kept) return all_zero();
  Vec<T> top = splat<T>(-kInf);
  for (Index i = 0; i < n; i += L) {
    Vec<T> v = row.score(i);
    top = larger<T>(v, top);
    put<T>(x, i, n, v);
  }
  T m = max_lanes<T>(top);
  if (m == -kInf) {  // nothing is kept, unless the row has a NaN
    IntVec<T> nan{};
    each<T>(x, n, T(0), [&](Index, Vec<T> v, int) { nan |= v != v; });
    bool any = false;
    for (Index i = 0; i < L; ++i) any = any || nan[i];
    if (!any) return all_zero();
  }
  Sum<T> total;
  each<T>(x, n, -kInf, [&](Index i, Vec<T> v, int part) {
    Vec<T> e = exp<T>(v - m);
    total.part[part] += e;
    put<T>(x, i, n, e);
  });
  T inverse = T(1) / sum_lanes<T>(total);
  each_to<T>(x, x, n, [&](Index, Vec<T> v) { return v * inverse; });
}

template <class T>
void softmax(const ScoreTile<T>& tile) {
  const Index vectors = (tile.columns + kLanes<T> - 1) / kLanes<T>;
  Index r = 0;
  auto take = [&]<int R, int V>() {
    if (vectors != V || tile.rows - r < R || !softmax_of_rows<T, R, V>(tile, r)) return false;
    r += R;
    return true;
  };
  while (r < tile.rows) {
    if (take.template operator()<4, 1>() || take.template operator()<1, 1>() ||
        take.template operator()<2, 2>() || take.template operator()<1, 2>() ||
        take.template operator()<1, 3>() || take.template operator()<1, 4>())
      continue;
    softmax_of_row<T>({tile, r});
    ++r;
  }
}

// Where `scale` is not 0, p is marked: its sign says what dropout dropped (draw_mask), and dp is
// the gradient of what was left.
template <class T>
void softmax_grad(Index rows, Index n, const T* p, Index ld_p, T* dp, Index ld_dp, T scale) {
  struct ProbGradient {
    Vec<T> p, dp;
  };
  auto pair = [&](Index i) {
    Vec<T> v = at<T>(p, i, n), d = at<T>(dp, i, n);
    if (scale == T(0)) return ProbGradient{v, d};
    d = (IntVec<T>)v < 0 ? Vec<T>{} : d * scale;
    return ProbGradient{magnitude<T>(v), d};
  };
  for (Index r = 0; r < rows; ++r, p += ld_p, dp += ld_dp) {
    Sum<T> dot;
    each_part<T>(
        n, [&](Index i, int part, bool) __attribute__((always_inline)) {
          ProbGradient v = pair(i);
          dot.part[part] = multiply_add<T>(v.p, v.dp, dot.part[part]);
        });
    T inner = sum_lanes<T>(dot);
    for (Index i = 0; i < n; i += kLanes<T>) {
      ProbGradient v = pair(i);
      put<T>(dp, i, n, v.p * (v.dp - inner));
    }
  }
}

}  // namespace glim::GLIM_ISA
