// Recurrent layers over sequences: RNN (Elman 1990), GRU (Cho et al. 2014), LSTM (Hochreiter &
// Schmidhuber 1997), as torch.nn.RNN, GRU and LSTM. The step's equations are in nn/recurrent/cell.hpp.
//
//   x (B, T, I) -> y (B, T, directions·H)      state (layers·directions, B, H), an LSTM's [h, c] (…, B, 2 H)
//
// Layer k > 0 reads layer k - 1's y, with dropout in between in training. A second direction reads
// from the end; its part of y comes after the first's. Parameters, for layer k:
//
//   weight_ih_lk (gates·H, I or directions·H)   weight_hh_lk (gates·H, H)   bias_ih_lk, bias_hh_lk
//   (gates·H,), and the same with _reverse; all start uniform on ±1/√H
//
// Lengths (Schuster & Paliwal 1997 for two directions; torch's packed sequences): sequence b has
// lengths[b] steps; the rest is padding. Padding never reaches the state: y is 0 there, the
// final state is that of the last real step, and the reverse direction starts at it.
//
// One product projects the inputs of all steps; a step multiplies only the state.
//
// Errors: ValueError for sizes below 1, dropout outside [0, 1], a length outside [1, T]; ShapeError for x of another shape or without steps, and for a state
// or lengths that do not fit; DTypeError unless lengths are int64.
#pragma once

#include <deque>

#include "nn/recurrent/cell.hpp"

namespace glim {

struct RecurrentOptions {
  Index layers = 1;
  bool bidirectional = false;
  double dropout = 0;  // on the outputs of every layer but the last
  bool bias = true;
};

struct RecurrentOutput {
  Var y;
  Var state;  // one a layer and direction: layer 0, layer 0 reverse, layer 1, ...
};

class Recurrent : public Callable<Recurrent> {
 public:
  Recurrent(CellKind kind, Index in, Index hidden, RecurrentOptions options = {});
  Index layers() const { return options_.layers; }
  Index directions() const { return options_.bidirectional ? 2 : 1; }
  const CellWeights& weights(Index layer, bool reverse = false) const;
  // Dropout between layers, as forward applies it.
  Var between_layers(const Var& y) const;

  // Without an initial state it starts from zeros; without lengths all T steps are real.
  RecurrentOutput forward(const Var& x, const Var& initial = {}, const Tensor& lengths = {});

 private:
  struct Lengths;
  void check(const Var& x, const Var& initial) const;
  // The final state; its steps' outputs (B, 1, H) go beside those of the other direction.
  Var run(const Var& x, Index layer, bool reverse, Var state, const Lengths& lengths,
          std::vector<Var>& outputs) const;

  CellKind kind_;
  Index in_, hidden_;
  RecurrentOptions options_;
  std::deque<CellWeights> weights_;
};

}  // namespace glim
