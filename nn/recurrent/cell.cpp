#include "nn/recurrent/cell.hpp"

#include <cmath>

#include "tensor/error.hpp"

namespace glim {
namespace {

Index positive_size(CellKind kind, Index size) {
  if (size < 1) throw ValueError(name_of(kind), "the input and hidden sizes must be positive");
  return size;
}

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

RecurrentCell::RecurrentCell(CellKind kind, Index in, Index hidden, bool bias)
    : weights(*this, "", gates_of(kind) * positive_size(kind, hidden), positive_size(kind, in),
              hidden, bias),
      kind_(kind),
      in_(in),
      hidden_(hidden) {}

Var RecurrentCell::forward(const Var& x, const Var& state) {
  if (x.rank() != 2 || x.size(1) != in_)
    throw ShapeError(name_of(kind_), "x must be (B, " + std::to_string(in_) + ")", {{"x", x}});
  const Shape shape{x.size(0), parts_of(kind_) * hidden_};
  if (state.defined() && state.shape() != shape)
    throw ShapeError(name_of(kind_), "a state must be " + to_string(shape), {{"state", state}});
  return cell_step(kind_, linear(x, weights.weight_ih, weights.bias_ih),
                   state.defined() ? state : Var(zeros(shape, x.dtype())), weights);
}

}  // namespace glim
