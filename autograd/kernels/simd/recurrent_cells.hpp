// The element-wise part of a step of a GRU and of an LSTM, and back. The equations are in
// autograd/ops/gru_cell.cpp and autograd/ops/lstm_cell.cpp.
#pragma once

#include "autograd/kernels/simd/op_kernels.hpp"
#include "tensor/simd/gates.hpp"

namespace glim::GLIM_ISA {

template <class T>
GLIM_INLINE void fill_zero(T* p, Index n) {
  if (p) __builtin_memset(p, 0, static_cast<std::size_t>(n) * sizeof(T));
}
template <class T>
GLIM_INLINE void copy_row(T* target, const T* source, Index n) {
  __builtin_memcpy(target, source, static_cast<std::size_t>(n) * sizeof(T));
}
template <class T>
GLIM_INLINE T* row_of(T* p, Index r, Index n) {
  return p ? p + r * n : nullptr;
}

template <class T>
void gru(const CellRows<T>& cell, T* y) {
  const Index n = cell.n;
  for (Index r = 0; r < cell.rows; ++r, y += n) {
    const T *gi = cell.input.x + r * cell.input.ld, *gh = cell.hidden.x + r * cell.hidden.ld;
    const T* h = cell.state.x + r * cell.state.ld;
    if (cell.valid && !cell.valid[r]) {
      copy_row(y, h, n);
      continue;
    }
    for (Index i = 0; i < n; i += kLanes<T>) {
      Vec<T> reset = sigmoid<T>(at<T>(gi, i, n) + at<T>(gh, i, n));
      Vec<T> update = sigmoid<T>(at<T>(gi + n, i, n) + at<T>(gh + n, i, n));
      Vec<T> candidate = tanh<T>(at<T>(gi + 2 * n, i, n) + reset * at<T>(gh + 2 * n, i, n));
      put<T>(y, i, n, candidate + update * (at<T>(h, i, n) - candidate));
    }
  }
}

template <class T>
void gru_grad(const CellRows<T>& cell, RowsAt<T> dy, T* dinput, T* dhidden, T* dstate) {
  const Index n = cell.n;
  for (Index r = 0; r < cell.rows; ++r) {
    const T *gi = cell.input.x + r * cell.input.ld, *gh = cell.hidden.x + r * cell.hidden.ld;
    const T *h = cell.state.x + r * cell.state.ld, *dy_row = dy.x + r * dy.ld;
    T *di = row_of(dinput, r, 3 * n), *dg = row_of(dhidden, r, 3 * n), *dh = row_of(dstate, r, n);
    if (cell.valid && !cell.valid[r]) {
      fill_zero(di, 3 * n);
      fill_zero(dg, 3 * n);
      if (dh) copy_row(dh, dy_row, n);
      continue;
    }
    for (Index i = 0; i < n; i += kLanes<T>) {
      Vec<T> hidden = at<T>(gh + 2 * n, i, n);
      Vec<T> reset = sigmoid<T>(at<T>(gi, i, n) + at<T>(gh, i, n));
      Vec<T> update = sigmoid<T>(at<T>(gi + n, i, n) + at<T>(gh + n, i, n));
      Vec<T> candidate = tanh<T>(at<T>(gi + 2 * n, i, n) + reset * hidden);
      Vec<T> g = at<T>(dy_row, i, n);
      Vec<T> dcandidate = g * (T(1) - update) * (T(1) - candidate * candidate);
      Vec<T> dupdate = g * (at<T>(h, i, n) - candidate) * update * (T(1) - update);
      Vec<T> dreset = dcandidate * hidden * reset * (T(1) - reset);
      if (di) {
        put<T>(di, i, n, dreset);
        put<T>(di + n, i, n, dupdate);
        put<T>(di + 2 * n, i, n, dcandidate);
      }
      if (dg) {
        put<T>(dg, i, n, dreset);
        put<T>(dg + n, i, n, dupdate);
        put<T>(dg + 2 * n, i, n, dcandidate * reset);
      }
      if (dh) put<T>(dh, i, n, g * update);
    }
  }
}

template <class T>
void lstm(const CellRows<T>& cell, T* y) {
  const Index n = cell.n;
  for (Index r = 0; r < cell.rows; ++r, y += 2 * n) {
    const T *gi = cell.input.x + r * cell.input.ld, *gh = cell.hidden.x + r * cell.hidden.ld;
    const T* state = cell.state.x + r * cell.state.ld;
    if (cell.valid && !cell.valid[r]) {
      copy_row(y, state, 2 * n);
      continue;
    }
    auto gate = [&](Index k, Index i) { return at<T>(gi + k * n, i, n) + at<T>(gh + k * n, i, n); };
    for (Index i = 0; i < n; i += kLanes<T>) {
      Vec<T> c = sigmoid<T>(gate(1, i)) * at<T>(state + n, i, n) +
                 sigmoid<T>(gate(0, i)) * tanh<T>(gate(2, i));
      put<T>(y, i, n, sigmoid<T>(gate(3, i)) * tanh<T>(c));
      put<T>(y + n, i, n, c);
    }
  }
}

template <class T>
void lstm_grad(const CellRows<T>& cell, RowsAt<T> dy, T* dgates, T* dstate) {
  const Index n = cell.n;
  for (Index r = 0; r < cell.rows; ++r) {
    const T *gi = cell.input.x + r * cell.input.ld, *gh = cell.hidden.x + r * cell.hidden.ld;
    const T *state = cell.state.x + r * cell.state.ld, *dy_row = dy.x + r * dy.ld;
    T *dg = row_of(dgates, r, 4 * n), *ds = row_of(dstate, r, 2 * n);
    if (cell.valid && !cell.valid[r]) {
      fill_zero(dg, 4 * n);
      if (ds) copy_row(ds, dy_row, 2 * n);
      continue;
    }
    fill_zero(ds, n);  // h reaches the step through its product alone
    auto gate = [&](Index k, Index i) { return at<T>(gi + k * n, i, n) + at<T>(gh + k * n, i, n); };
    for (Index i = 0; i < n; i += kLanes<T>) {
      Vec<T> in = sigmoid<T>(gate(0, i)), forget = sigmoid<T>(gate(1, i));
      Vec<T> fresh = tanh<T>(gate(2, i)), out = sigmoid<T>(gate(3, i));
      Vec<T> before = at<T>(state + n, i, n);
      Vec<T> tanh_c = tanh<T>(forget * before + in * fresh);
      Vec<T> dh = at<T>(dy_row, i, n);
      Vec<T> dc = at<T>(dy_row + n, i, n) + dh * out * (T(1) - tanh_c * tanh_c);
      if (dg) {
        put<T>(dg, i, n, dc * fresh * in * (T(1) - in));
        put<T>(dg + n, i, n, dc * before * forget * (T(1) - forget));
        put<T>(dg + 2 * n, i, n, dc * in * (T(1) - fresh * fresh));
        put<T>(dg + 3 * n, i, n, dh * tanh_c * out * (T(1) - out));
      }
      if (ds) put<T>(ds + n, i, n, dc * forget);
    }
  }
}

// ---- additive attention ----

template <class T>
void additive_scores(const AdditiveTile<T>& tile, T* scores) {
  const Index n = tile.n;
  for (Index t = 0; t < tile.queries; ++t)
    for (Index s = 0; s < tile.keys; ++s) {
      const T* key = tile.key + s * n;
      Sum<T> total;
      each<T>(tile.query + t * n, n, T(0), [&](Index i, Vec<T> q, int part) {
        total.part[part] =
            multiply_add<T>(at<T>(tile.v, i, n), tanh<T>(q + at<T>(key, i, n)), total.part[part]);
      });
      *scores++ = sum_lanes<T>(total);
    }
}

template <class T>
void additive_scores_grad(const AdditiveTile<T>& tile, const T* dscores, T* dquery, T* dkey,
                          T* dv) {
  const Index n = tile.n;
  for (Index t = 0; t < tile.queries; ++t)
    for (Index s = 0; s < tile.keys; ++s) {
      T dscore = *dscores++;
      if (dscore == T(0)) continue;  // masked
      const T* key = tile.key + s * n;
      T *dq = row_of(dquery, t, n), *dk = row_of(dkey, s, n);
      each<T>(tile.query + t * n, n, T(0), [&](Index i, Vec<T> q, int) {
        Vec<T> u = tanh<T>(q + at<T>(key, i, n));
        Vec<T> du = at<T>(tile.v, i, n) * dscore * (T(1) - u * u);
        if (dq) put<T>(dq, i, n, at<T>(dq, i, n) + du);
        if (dk) put<T>(dk, i, n, at<T>(dk, i, n) + du);
        if (dv) put<T>(dv, i, n, at<T>(dv, i, n) + u * dscore);
      });
    }
}

}  // namespace glim::GLIM_ISA
