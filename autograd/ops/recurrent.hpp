// What the fused steps of recurrent cells share: their checks, and their rows for the kernels.
#pragma once

#include "autograd/kernels/recurrent.hpp"
#include "autograd/ops/fused.hpp"

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
    throw named_operands(ShapeError(op, "wants input and hidden (B, " + times_h(gates) +
                                            "), state (B, " + times_h(parts) + "), live (B)"));
  if (!is_floating(input.dtype()) || hidden.dtype() != input.dtype() ||
      state.dtype() != input.dtype() || (live.defined() && live.dtype() != DType::Bool))
    throw named_operands(DTypeError(op, "needs operands of one floating dtype and a bool live"));
}

// The operands of one step as rows; `live` is made contiguous.
struct CellOperands {
  Rows input, hidden, state;
  Tensor live;
  Index n;  // H

  CellOperands(const Tensor& i, const Tensor& h, const Tensor& s, const Tensor& l, Index gates)
      : input(rows_of(i)),
        hidden(rows_of(h)),
        state(rows_of(s)),
        live(l.defined() ? l.contiguous() : l),
        n(i.size(1) / gates) {}

  // Those of rows [begin, end).
  template <class T>
  CellRows<T> rows(Index begin, Index end) const {
    auto from = [&](const Rows& r) { return RowsAt<T>{r.x.data<T>() + begin * r.ld, r.ld}; };
    return {end - begin,  n,           from(input),
            from(hidden), from(state), live.defined() ? live.data<bool>() + begin : nullptr};
  }
  // f(begin, end) for pieces of rows.
  template <class F>
  void each_piece(const F& f) const {
    parallel_for(input.count, rows_per_piece(input.columns), f);
  }
};

// x's rows from `begin` on, or null.
template <class T>
T* from_row(const Tensor& x, Index begin) {
  return x.defined() ? x.data<T>() + begin * x.size(1) : nullptr;
}

// live ? next : state, row by row; without live all rows go on.
inline Var where_live(const Tensor& live, const Var& next, const Var& state, Where at) {
  return live.defined() ? where(live.unsqueeze(1), next, state, at) : next;
}

}  // namespace glim
