// One step of a recurrent layer, with the parameter names and defaults of torch.nn.RNNCell, GRUCell
// and LSTMCell:
//
//   i = x W_ihᵀ + b_ih      g = h W_hhᵀ + b_hh      x (B, I)   h (B, H)   i, g (B, gates·H)
//
//   RNN    h' = tanh(i + g) or max(0, i + g)                             1 gate   (Elman 1990)
//   GRU    r, z = sigmoid(i + g); h' = (1 - z) tanh(i_c + r g_c) + z h   3 gates: r, z, c
//   LSTM   c' = sigmoid(a_f) c + sigmoid(a_i) tanh(a_u)                  4 gates: i, f, u, o
//          h' = sigmoid(a_o) tanh(c'), a = i + g
//
//   weight_ih (gates·H, I)   weight_hh (gates·H, H)   bias_ih, bias_hh (gates·H,)
//
// The gradients are in autograd/ops/gru_cell.cpp and lstm_cell.cpp. Every parameter starts uniform
// on ±1/√H. The state is one tensor: h, for an LSTM [h, c] along the last axis.
//
// Errors: ShapeError, DTypeError for operands that do not fit.
#pragma once

#include "nn/choice.hpp"
#include "nn/module.hpp"

namespace glim {

enum class CellKind { Tanh, Relu, Gru, Lstm };
template <>
inline const ChoiceNames<CellKind> kNames<CellKind>{
    {{"gru", CellKind::Gru}, {"lstm", CellKind::Lstm}, {"rnn", CellKind::Tanh}}};
std::string_view name_of(CellKind kind);  // "RNN", "RNN", "GRU", "LSTM"
Index gates_of(CellKind kind);            // 1, 1, 3, 4
Index parts_of(CellKind kind);            // parts of the state: 1, and 2 for an LSTM

struct CellWeights {
  // Registers weight_ih, weight_hh, bias_ih, bias_hh, each with the suffix; the biases may be absent.
  CellWeights(Module& module, const std::string& suffix, Index rows, Index in, Index hidden,
              bool bias);
  Param weight_ih, weight_hh, bias_ih, bias_hh;
};

// The state after a step from `state` (B, parts·H); input (B, gates·H) is i above. Rows with
// valid = false ((B,) bool; undefined: all valid) keep their state.
Var cell_step(CellKind kind, const Var& input, const Var& state, const CellWeights& weights,
              const Tensor& valid = {});
Var hidden_of(CellKind kind, const Var& state);  // (B, parts·H) -> (B, H)

}  // namespace glim
