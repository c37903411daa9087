// The kernels of the ops that have one, compiled for each instruction set like those of
// tensor/simd/kernels.hpp and under the same rules: no tensors, no checks, no threads. The rule of each op
// is in autograd/ops.
#pragma once

#include "tensor/simd/kernels.hpp"

namespace glim {

// q = hit for the target, 0 for pad, rest elsewhere; total is their sum. Rows whose target is pad
// count nothing.
struct SmoothedTarget {
  double hit, rest, total;
  std::int64_t pad;
};

// Scores of one head, (rows, columns) in place: softmax(scale·x + bias) over columns with keep.
template <class T>
struct ScoreTile {
  std::int64_t rows, columns;
  T* x;
  std::int64_t ld;
  T scale;
  const T* bias;                       // or null
  std::int64_t bias_row, bias_column;  // distances; columns: 0 or 1
  const bool* keep;                    // or null
  std::int64_t keep_row, keep_column;
};

template <class T>
struct RowsAt {
  const T* x;
  std::int64_t ld;
};

// Layer norm of `rows` rows of x, y = γ (x - μ)/σ + β with σ² = mean (x - μ)² + ε. RMS norm has μ = 0 and a null
// mean. gamma and beta may be null; y is contiguous.
template <class T>
struct NormRows {
  std::int64_t rows, columns;
  RowsAt<T> x;
  const T *gamma, *beta;
  T eps;
  T *y, *mean, *inverse_sigma;
};
// Its backward. The rows' sums are added to dgamma and dbeta. Each of gamma, mean, dx, dgamma and dbeta may be null.
// dx is contiguous, and neither x nor dy.
template <class T>
struct NormRowsGrad {
  std::int64_t rows, columns;
  RowsAt<T> x;
  const T *gamma, *mean, *inverse_sigma;
  RowsAt<T> dy;
  T *dx, *dgamma, *dbeta;
};

// One step of a recurrent cell for `rows` sequences of `n` hidden elements: `input` and `hidden`
// are the two products (with their biases) that the gates are made of, `state` is what the step
// starts from. Rows with valid = false (null: all valid) keep their state.
template <class T>
struct CellRows {
  std::int64_t rows, n;
  RowsAt<T> input, hidden, state;
  const bool* valid;
};

// The operands of one sequence: query (queries, n), key (keys, n), v (n), each contiguous.
template <class T>
struct AdditiveTile {
  std::int64_t queries, keys, n;
  const T *query, *key, *v;
};

namespace simd {

// dx = dy ⊙ f'(x), kept: x or y, whichever the slope reads (tensor/simd/element_functions.hpp)
template <class T>
void function_grad(ElementFunction f, Index n, const T* kept, const T* dy, T* dx);
// dx = scale·dy, and 0 where y = 0; dx may be y
template <class T>
void relu_grad(Index n, const T* y, const T* dy, T scale, T* dx);
// total[c] += Σ_r x[r][c], partial sums of 64 rows
template <class T>
void sum_rows(Index rows, Index n, const T* x, Index ld, T* total);

// scores -> probabilities; a row of which nothing is kept becomes 0
template <class T>
void softmax(const ScoreTile<T>& scores);
// dx = p (dp - Σ dp p), in place of dp. If scale is not 0, p is marked, and dp is the gradient of what
// dropout left.
template <class T>
void softmax_grad(Index rows, Index n, const T* p, Index ld_p, T* dp, Index ld_dp, T scale);
// y[i] = dropped(first + i) ? 0 : scale·p[i] for p >= 0, which is marked: its sign becomes - where
// it is dropped (-0 too), so that backward need not draw again. y may not be p.
template <class T>
void draw_mask(const DropSpec& drop, Index first, Index n, T* p, T* y);
// y as draw_mask gives it, from a p that it has marked.
template <class T>
void apply_mask(Index n, T scale, const T* p, T* y);

template <class T>
void norm_rows(const NormRows<T>& norm);
template <class T>
void norm_rows_grad(const NormRowsGrad<T>& norm);

// cross[r] = -Σ q ln p, nll[r] = -ln p(target), stats[r] = {max, Σ_v q_v / Σ e^{x - max}}; unless dx is null,
// also dx (rows, n) = total·p - q; dx may be x
template <class T>
void cross_entropy(const SmoothedTarget& q, Index rows, Index n, const T* x, Index ld,
                   const Index* target, T* stats, double* cross, double* nll, T* dx);
// dx = g (total·p - q) from the stats
template <class T>
void cross_entropy_grad(const SmoothedTarget& q, Index rows, Index n, const T* x, Index ld,
                        const Index* target, const T* stats, T g, T* dx, Index ld_dx);

// GRU: input, hidden (rows, 3n) in the order reset, update, candidate; state, y (rows, n)
template <class T>
void gru(const CellRows<T>& cell, T* y);
// each of dinput, dhidden (rows, 3n), dstate (rows, n) may be null
template <class T>
void gru_grad(const CellRows<T>& cell, RowsAt<T> dy, T* dinput, T* dhidden, T* dstate);
// LSTM: input, hidden (rows, 4n) in the order input, forget, cell, output; state, y (rows, 2n) are h, c
template <class T>
void lstm(const CellRows<T>& cell, T* y);
// dgates (rows, 4n) is both products' gradient; each of dgates, dstate (rows, 2n) may be null
template <class T>
void lstm_grad(const CellRows<T>& cell, RowsAt<T> dy, T* dgates, T* dstate);

// scores[t][s] = Σ_a v_a tanh(query[t][a] + key[s][a])
template <class T>
void additive_scores(const AdditiveTile<T>& tile, T* scores);
// adds to dquery (queries, n), dkey (keys, n) and dv (n), each of which may be null
template <class T>
void additive_scores_grad(const AdditiveTile<T>& tile, const T* dscores, T* dquery, T* dkey, T* dv);

}  // namespace simd

}  // namespace glim
