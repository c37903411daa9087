// Dropout of attention's probabilities. They are at least 0, so their sign is free to say which were
// dropped, and backward need not draw again.
#pragma once

#include "tensor/simd/dropout.hpp"
#include "tensor/simd/gates.hpp"

namespace glim::GLIM_ISA {

template <class T>
void draw_mask(const DropSpec& drop, Index first, Index n, T* p, T* y) {
  const T scale = static_cast<T>(drop.scale);
  each_decision<T>(
      drop, first, n,
      [&](Index i, IntVec<T> dropped) __attribute__((always_inline)) {
        Vec<T> v = magnitude<T>(load<T>(p + i));
        store<T>(p + i, dropped ? -v : v);
        store<T>(y + i, dropped ? Vec<T>{} : v * scale);
      },
      [&](Index i, bool dropped) __attribute__((always_inline)) {
        T v = static_cast<T>(__builtin_fabs(static_cast<double>(p[i])));
        p[i] = dropped ? -v : v;
        y[i] = dropped ? T(0) : v * scale;
      });
}

template <class T>
void apply_mask(Index n, T scale, const T* p, T* y) {
  each_to<T>(y, p, n, [&](Index, Vec<T> v) { return (IntVec<T>)v < 0 ? Vec<T>{} : v * scale; });
}

}  // namespace glim::GLIM_ISA
