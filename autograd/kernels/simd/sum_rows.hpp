// Sums over rows, as a bias's gradient is.
#pragma once

#include "tensor/simd/vec.hpp"

namespace glim::GLIM_ISA {

template <class T>
void sum_rows(Index rows, Index n, const T* x, Index ld, T* total) {
  constexpr Index kRows = 64;  // few enough that float sums stay accurate
  constexpr Index L = kLanes<T>;
  for (Index r = 0; r < rows; r += kRows) {
    Index end = r + kRows < rows ? r + kRows : rows;
    Index i = 0;
    for (; i + 4 * L <= n; i += 4 * L) {
      Vec<T> part[4] = {};
      for (Index k = r; k < end; ++k)
        for (Index j = 0; j < 4; ++j) part[j] += load<T>(x + k * ld + i + j * L);
      for (Index j = 0; j < 4; ++j)
        store<T>(total + i + j * L, load<T>(total + i + j * L) + part[j]);
    }
    for (; i < n; i += L) {
      Vec<T> part{};
      for (Index k = r; k < end; ++k) part += at<T>(x + k * ld, i, n);
      put<T>(total, i, n, part + at<T>(total, i, n));
    }
  }
}

}  // namespace glim::GLIM_ISA
