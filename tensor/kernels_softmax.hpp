// Softmax of a tile of attention scores, with scale, bias and mask in the same pass.
//
//   s = scale·x + bias, -∞ where not kept      p = e^{s - max}/Σ      dp -> p (dp - Σ dp p)
#pragma once

#include "tensor/kernels_rows.hpp"
#include "tensor/simd.hpp"

namespace glim::GLIM_ISA {

// Lanes that are kept, as all ones or all zeros; lanes past `count` are not.
template <class T>
GLIM_INLINE IntVec<T> keep_lanes(const bool* keep, Index count) {
  typename Simd<T>::Bytes b{};
  if (count >= kLanes<T>)
    __builtin_memcpy(&b, keep, kLanes<T>);
  else
    for (Index i = 0; i < count; ++i) b[i] = keep[i];
  return __builtin_convertvector(b, IntVec<T>) != 0;
}

template <class T>
void softmax(const ScoreTile<T>& tile) {
  constexpr T kInf = static_cast<T>(__builtin_inf());
  constexpr Index L = kLanes<T>;
  const Index n = tile.columns;
  for (Index r = 0; r < tile.rows; ++r) {
    T* x = tile.x + r * tile.ld;
    const T* bias = tile.bias ? tile.bias + r * tile.bias_row : nullptr;
    const bool* keep = tile.keep ? tile.keep + r * tile.keep_row : nullptr;
    if (keep && tile.keep_column == 0) {  // one decision for the whole row
      if (!*keep) {
        each_to<T>(x, x, n, [](Index, Vec<T>) { return Vec<T>{}; });
        continue;
      }
      keep = nullptr;
    }
    T row_bias = bias && tile.bias_column == 0 ? *bias : T(0);
    if (bias && tile.bias_column == 0) bias = nullptr;
    // A vector of scores from the product's; lanes past the end do not count.
    auto score = [&](Index i, Index count) {
      Vec<T> v = (count >= L ? load<T>(x + i) : load_part<T>(x + i, count, -kInf)) * tile.scale;
      v += bias ? at<T>(bias, i, n) : splat<T>(row_bias);
      if (keep) v = keep_lanes<T>(keep + i, count) ? v : splat<T>(-kInf);
      return v;
    };
    auto put = [&](Index i, Index count, Vec<T> v) {
      if (count >= L)
        store<T>(x + i, v);
      else
        store_part<T>(x + i, v, count);
    };
    Vec<T> top = splat<T>(-kInf);
    for (Index i = 0; i < n; i += L) {
      Vec<T> v = score(i, n - i);
      top = larger<T>(v, top);
      put(i, n - i, v);
    }
    T m = max_lanes<T>(top);
    if (m == -kInf) {  // nothing is kept, unless a NaN stands in the row
      IntVec<T> nan{};
      each<T>(x, n, T(0), [&](Index, Vec<T> v) { nan |= v != v; });
      bool any = false;
      for (Index i = 0; i < L; ++i) any = any || nan[i];
      if (!any) {
        each_to<T>(x, x, n, [](Index, Vec<T>) { return Vec<T>{}; });
        continue;
      }
    }
    Vec<T> total{};
    for (Index i = 0; i < n; i += L) {
      Vec<T> e = exp<T>((n - i >= L ? load<T>(x + i) : load_part<T>(x + i, n - i, -kInf)) - m);
      total += e;
      put(i, n - i, e);
    }
    T inverse = T(1) / sum_lanes<T>(total);
    each_to<T>(x, x, n, [&](Index, Vec<T> v) { return v * inverse; });
  }
}

template <class T>
void softmax_grad(Index rows, Index n, const T* p, Index ld_p, T* dp, Index ld_dp) {
  for (Index r = 0; r < rows; ++r, p += ld_p, dp += ld_dp) {
    Vec<T> dot{};
    each<T>(p, n, T(0), [&](Index i, Vec<T> v) { dot += v * at<T>(dp, i, n); });
    T inner = sum_lanes<T>(dot);
    each_to<T>(dp, dp, n, [&](Index i, Vec<T> v) { return at<T>(p, i, n) * (v - inner); });
  }
}

}  // namespace glim::GLIM_ISA
