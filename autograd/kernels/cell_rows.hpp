// The operands of a recurrent cell's step as rows, for its kernels (recurrent.hpp).
#pragma once

#include "autograd/kernels/rows.hpp"
#include "autograd/kernels/table.hpp"

namespace glim {

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

}  // namespace glim
