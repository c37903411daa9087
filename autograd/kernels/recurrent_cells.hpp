// The operands of a recurrent cell's step (autograd/ops/gru_cell.cpp, lstm_cell.cpp) as rows. The kernels
// compute all gates of a row in one pass, and compute them again in backward.
#pragma once

#include "autograd/kernels/rows.hpp"

namespace glim {

// `valid` is made contiguous.
struct CellOperands {
  Rows input, hidden, state;
  Tensor valid;
  Index n;  // H

  CellOperands(const Tensor& i, const Tensor& h, const Tensor& s, const Tensor& l, Index gates)
      : input(rows_of(i)),
        hidden(rows_of(h)),
        state(rows_of(s)),
        valid(contiguous_or_none(l)),
        n(i.size(1) / gates) {}

  // f(rows, begin) for the rows from `begin` on of each piece of work.
  template <class F>
  void each_cells(const F& f) const {
    each_rows(input, [&]<class T>(Index begin, Index end) {
      auto from = [&](const Rows& r) { return RowsAt<T>{r.at<T>(begin), r.ld}; };
      f(CellRows<T>{end - begin, n, from(input), from(hidden), from(state),
                    valid.defined() ? valid.data<bool>() + begin : nullptr},
        begin);
    });
  }
};

// x's rows from `begin` on, or null.
template <class T>
T* from_row(const Tensor& x, Index begin) {
  return data_or_null<T>(x, x.defined() ? begin * x.size(1) : 0);
}

}  // namespace glim
