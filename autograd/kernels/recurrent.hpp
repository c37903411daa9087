// Row kernels of the recurrent layers' fused ops, compiled for each instruction set like those of
// tensor/simd/kernels.hpp and under the same rules: no tensors, no checks, no threads.
//
// T is float or double. A row's elements are adjacent; `ld` is the distance between rows.
#pragma once

#include <cstdint>

#include "tensor/simd/isa.hpp"

namespace glim {

template <class T>
struct RowsAt {
  const T* x;
  std::int64_t ld;
};

// One step of a recurrent cell for `rows` sequences of `n` hidden elements: `input` and `hidden`
// are the two products (with their biases) that the gates are made of, `state` is what the step
// starts from. Rows with live = false (null: all live) keep their state.
template <class T>
struct CellRows {
  std::int64_t rows, n;
  RowsAt<T> input, hidden, state;
  const bool* live;
};

// Of one sequence: query (queries, n), key (keys, n), v (n), each contiguous.
template <class T>
struct AdditiveTile {
  std::int64_t queries, keys, n;
  const T *query, *key, *v;
};

template <class T>
struct RecurrentKernels {
  // GRU: input, hidden (rows, 3n) in the order reset, update, candidate; state, y (rows, n)
  void (*gru)(const CellRows<T>& cell, T* y);
  // each of dinput, dhidden (rows, 3n), dstate (rows, n) may be null
  void (*gru_grad)(const CellRows<T>& cell, RowsAt<T> dy, T* dinput, T* dhidden, T* dstate);

  // LSTM: input, hidden (rows, 4n) in the order input, forget, cell, output; state and y (rows, 2n)
  // hold h, then c
  void (*lstm)(const CellRows<T>& cell, T* y);
  // dgates (rows, 4n) is both products' gradient; each of dgates, dstate (rows, 2n) may be null
  void (*lstm_grad)(const CellRows<T>& cell, RowsAt<T> dy, T* dgates, T* dstate);

  // scores[t][s] = Σ_a v_a tanh(query[t][a] + key[s][a])
  void (*additive_scores)(const AdditiveTile<T>& tile, T* scores);
  // adds to dquery (queries, n), dkey (keys, n) and dv (n), each of which may be null
  void (*additive_scores_grad)(const AdditiveTile<T>& tile, const T* dscores, T* dquery, T* dkey,
                               T* dv);
};

// For this CPU, or for a given one of supported_isas().
template <class T>
const RecurrentKernels<T>& recurrent_kernels(Isa isa = best_isa());

}  // namespace glim
