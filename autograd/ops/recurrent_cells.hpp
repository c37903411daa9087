// Shared by the steps of recurrent cells: checks, and rows that keep their state.
#pragma once

#include "autograd/kernels/recurrent_cells.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"

namespace glim {

// ShapeError, DTypeError naming `op` unless input and hidden are (B, gates·H), state (B, parts·H),
// all of one floating dtype, and valid, if there is one, (B,) bool.
inline void check_cell(std::string_view op, const Var& input, const Var& hidden, const Var& state,
                       const Tensor& valid, Index gates, Index parts) {
  auto named_operands = [&](auto error) {
    error.add_operand("input", input.value().kind());
    error.add_operand("hidden", hidden.value().kind());
    error.add_operand("state", state.value().kind());
    if (valid.defined()) error.add_operand("valid", valid.kind());
    return error;
  };
  auto times_h = [](Index n) { return n == 1 ? std::string("H") : std::to_string(n) + "H"; };
  bool fits = input.rank() == 2 && hidden.shape() == input.shape() && state.rank() == 2 &&
              state.size(0) == input.size(0) && state.size(1) * gates == input.size(1) * parts &&
              (!valid.defined() || valid.shape() == Shape{input.size(0)});
  if (!fits)
    throw named_operands(ShapeError(op, "needs input and hidden (B, " + times_h(gates) +
                                            "), state (B, " + times_h(parts) + "), valid (B)"));
  if (!is_floating(input.dtype()) || hidden.dtype() != input.dtype() ||
      state.dtype() != input.dtype() || (valid.defined() && valid.dtype() != DType::Bool))
    throw named_operands(DTypeError(op, "needs operands of one floating dtype and a bool valid"));
}

// valid ? next : state, row by row; without valid all rows go on.
inline Var where_valid(const Tensor& valid, const Var& next, const Var& state) {
  return valid.defined() ? where(unsqueeze(valid, 1), next, state) : next;
}
inline Var zero_unless_valid(const Tensor& valid, const Var& x) {
  return where_valid(valid, x, scalar(0, x.dtype()));
}

}  // namespace glim
