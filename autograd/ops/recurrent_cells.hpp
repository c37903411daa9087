// Shared by the steps of recurrent cells: checks, rows that keep their state, and rows for the kernels.
#pragma once

#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"

namespace glim {

// ShapeError, DTypeError naming `op` unless input and hidden are (B, gates·H), state (B, parts·H),
// all of one floating dtype, and valid, if there is one, (B,) bool.
inline void check_cell(std::string_view op, const Var& input, const Var& hidden, const Var& state,
                       const Tensor& valid, Index gates, Index parts) {
  const std::initializer_list<NamedOperand> operands{
      {"input", input}, {"hidden", hidden}, {"state", state}, {"valid", valid}};
  auto times_h = [](Index n) { return n == 1 ? std::string("H") : std::to_string(n) + "H"; };
  bool fits = input.rank() == 2 && hidden.shape() == input.shape() && state.rank() == 2 &&
              state.size(0) == input.size(0) && state.size(1) * gates == input.size(1) * parts &&
              (!valid.defined() || valid.shape() == Shape{input.size(0)});
  if (!fits)
    throw ShapeError(op,
                     "needs input and hidden (B, " + times_h(gates) + "), state (B, " +
                         times_h(parts) + "), valid (B)",
                     operands);
  if (!is_floating(input.dtype()) || hidden.dtype() != input.dtype() ||
      state.dtype() != input.dtype() || (valid.defined() && valid.dtype() != DType::Bool))
    throw DTypeError(op, "needs operands of one floating dtype and a bool valid", operands);
}

struct CellOp : Fused {
  explicit CellOp(Tensor v) : valid(std::move(v)) {}

 protected:
  // valid ? next : state, row by row; without valid all rows go on.
  Var where_valid(const Var& next, const Var& state) const {
    return valid.defined() ? where(unsqueeze(valid, 1), next, state) : next;
  }
  Var zero_unless_valid(const Var& x) const { return where_valid(x, scalar(0, x.dtype())); }

  // The kernels compute all gates of a row in one pass, and compute them again in backward. Calls f(rows, begin) for
  // the rows from `begin` on of each piece of work.
  template <class F>
  void each_cells(const Tensor& input, const Tensor& hidden, const Tensor& state, Index gates,
                  const F& f) const {
    const LastAxis input_rows = rows_of(input), hidden_rows = rows_of(hidden),
                   state_rows = rows_of(state);
    const Tensor flat_valid = contiguous_or_none(valid);
    each_rows(input_rows, [&]<class T>(Index begin, Index end) {
      auto row = [&](const LastAxis& r) { return RowsAt<T>{r.at<T>(begin), r.ld}; };
      f(CellRows<T>{end - begin, input.size(1) / gates, row(input_rows), row(hidden_rows),
                    row(state_rows), data_or_null<bool>(flat_valid, begin)},
        begin);
    });
  }
  // x's rows from `begin` on, or null.
  template <class T>
  static T* from_row(const Tensor& x, Index begin) {
    return data_or_null<T>(x, x.defined() ? begin * x.size(1) : 0);
  }

  Tensor valid;
};

}  // namespace glim
