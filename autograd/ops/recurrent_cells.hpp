// What the steps of recurrent cells share: their checks, and rows that keep their state.
#pragma once

#include "autograd/kernels/recurrent_cells.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"

namespace glim {

// ShapeError, DTypeError naming `op` unless input and hidden are (B, gates·H), state (B, parts·H),
// all of one floating dtype, and live, if there is one, (B,) bool.
inline void check_cell(std::string_view op, const Var& input, const Var& hidden, const Var& state,
                       const Tensor& live, Index gates, Index parts) {
  auto named_operands = [&](auto error) {
    error.add_operand("input", input.value().kind());
    error.add_operand("hidden", hidden.value().kind());
    error.add_operand("state", state.value().kind());
    if (live.defined()) error.add_operand("live", live.kind());
    return error;
  };
  auto times_h = [](Index n) { return n == 1 ? std::string("H") : std::to_string(n) + "H"; };
  bool fits = input.rank() == 2 && hidden.shape() == input.shape() && state.rank() == 2 &&
              state.size(0) == input.size(0) && state.size(1) * gates == input.size(1) * parts &&
              (!live.defined() || live.shape() == Shape{input.size(0)});
  if (!fits)
    throw named_operands(ShapeError(op, "needs input and hidden (B, " + times_h(gates) +
                                            "), state (B, " + times_h(parts) + "), live (B)"));
  if (!is_floating(input.dtype()) || hidden.dtype() != input.dtype() ||
      state.dtype() != input.dtype() || (live.defined() && live.dtype() != DType::Bool))
    throw named_operands(DTypeError(op, "needs operands of one floating dtype and a bool live"));
}

// live ? next : state, row by row; without live all rows go on.
inline Var where_live(const Tensor& live, const Var& next, const Var& state) {
  return live.defined() ? where(unsqueeze(live, 1), next, state) : next;
}
inline Var zero_unless_live(const Tensor& live, const Var& x) {
  return where_live(live, x, scalar(0, x.dtype()));
}

}  // namespace glim
