#include "nn/recurrent/cell.hpp"

#include <cmath>

namespace glim {
namespace {

Tensor initial_for(Index hidden, const Shape& shape) {
  double bound = 1 / std::sqrt(static_cast<double>(hidden));
  return uniform(shape, -bound, bound, generator().next());
}

}  // namespace

std::string_view name_of(CellKind kind) {
  return kind == CellKind::Gru ? "GRU" : kind == CellKind::Lstm ? "LSTM" : "RNN";
}
Index gates_of(CellKind kind) { return kind == CellKind::Gru ? 3 : kind == CellKind::Lstm ? 4 : 1; }
Index parts_of(CellKind kind) { return kind == CellKind::Lstm ? 2 : 1; }

Var hidden_of(CellKind kind, const Var& state) {
  return kind == CellKind::Lstm ? narrow(state, 1, 0, state.size(1) / 2) : state;
}

Var cell_step(CellKind kind, const Var& input, const Var& state, const CellWeights& weights,
              const Tensor& valid) {
  Var hidden = linear(hidden_of(kind, state), weights.weight_hh, weights.bias_hh);
  if (kind == CellKind::Gru) return gru_cell(input, hidden, state, valid);
  if (kind == CellKind::Lstm) return lstm_cell(input, hidden, state, valid);
  Var sum = input + hidden;
  Var next = kind == CellKind::Tanh ? tanh(sum) : relu(sum);
  return valid.defined() ? where(unsqueeze(valid, 1), next, state) : next;
}

CellWeights::CellWeights(Module& module, const std::string& suffix, Index rows, Index in,
                         Index hidden, bool bias)
    : weight_ih(module, "weight_ih" + suffix, initial_for(hidden, {rows, in})),
      weight_hh(module, "weight_hh" + suffix, initial_for(hidden, {rows, hidden})),
      bias_ih(module, "bias_ih" + suffix, bias ? initial_for(hidden, {rows}) : Tensor()),
      bias_hh(module, "bias_hh" + suffix, bias ? initial_for(hidden, {rows}) : Tensor()) {}

}  // namespace glim
