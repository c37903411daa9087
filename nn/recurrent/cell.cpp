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

Var join_state(CellKind kind, const RecurrentState& state, Index batch, Index hidden, DType dtype) {
  bool lstm = kind == CellKind::Lstm;
  if (lstm ? state.h.defined() != state.c.defined() : state.c.defined())
    throw ValueError(name_of(kind), lstm ? "an initial state needs both h and c"
                                         : "only the state of an LSTM has c");
  if (!state.h.defined()) return Var(zeros({batch, parts_of(kind) * hidden}, dtype));
  for (const Var& v : {state.h, state.c})
    if (v.defined() && v.shape() != Shape{batch, hidden})
      throw ShapeError(name_of(kind),
                       "a state must be (" + std::to_string(batch) + ", " + std::to_string(hidden) +
                           "), batch and hidden size",
                       {{"state", v}});
  return lstm ? concatenate({state.h, state.c}, 1) : state.h;
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

RecurrentState RecurrentCell::forward(const Var& x, const RecurrentState& state) {
  if (x.rank() != 2 || x.size(1) != in_)
    throw ShapeError(name_of(kind_), "x must be (B, " + std::to_string(in_) + ")", {{"x", x}});
  Var before = join_state(kind_, state, x.size(0), hidden_, x.dtype());
  Var after = cell_step(kind_, linear(x, weights.weight_ih, weights.bias_ih), before, weights);
  return {hidden_of(kind_, after),
          kind_ == CellKind::Lstm ? narrow(after, 1, hidden_, hidden_) : Var()};
}

}  // namespace glim
