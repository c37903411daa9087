// Shared by the kernels: rows of a tensor, and pieces of work. A kernel computes what its op's rule says, on
// tensors that the op has checked. A test holds it equal to the rule, relative to the largest element: within
// 1e-12 in float64, within 1e-5 in float32 (tools/gradient_cases/variations.cpp).
//
// Work is cut by size alone, never by the number of threads: results have the same bits for any.
#pragma once

#include <algorithm>
#include <utility>

#include "autograd/kernels/simd/op_kernels.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"

namespace glim {

// The last axis as rows of adjacent elements, `ld` apart; a copy only where strides force it.
struct LastAxis {
  Tensor x;
  Index count, columns, ld;
  template <class T>
  T* at(Index row) const {
    return x.data<T>() + row * ld;
  }
};
inline LastAxis rows_of(const Tensor& x) {
  Index columns = x.size(-1), count = columns ? x.numel() / columns : 0;
  if (auto v = x.view({count, columns}); v && (columns <= 1 || v->strides()[1] == 1))
    return {*v, count, columns, v->strides()[0]};
  return {x.contiguous(), count, columns, columns};
}

// Rows of one piece of work: about 16,384 elements.
inline Index rows_per_piece(Index columns) {
  return std::max<Index>(1, 16384 / std::max<Index>(1, columns));
}

// Runs f<T>(begin, end) over [0, count) in pieces of `piece`, in parallel; T is the dtype's type.
template <class F>
void each_piece(DType dtype, Index count, Index piece, const F& f) {
  visit_floating(dtype, [&]<class T>() {
    parallel_for(count, piece,
                 [&](Index begin, Index end) { f.template operator()<T>(begin, end); });
  });
}
// each_piece over x's rows, and over the elements of a contiguous tensor.
template <class F>
void each_rows(const LastAxis& x, const F& f) {
  each_piece(x.x.dtype(), x.count, rows_per_piece(x.columns), f);
}
template <class F>
void each_elements(const Tensor& x, const F& f) {
  each_piece(x.dtype(), x.numel(), 16384, f);
}

// x's elements from `offset` on, or null where there is no x.
template <class T>
T* data_or_null(const Tensor& x, Index offset = 0) {
  return x.defined() ? x.data<T>() + offset : nullptr;
}
inline Tensor contiguous_or_none(const Tensor& x) { return x.defined() ? x.contiguous() : x; }

// Sums over rows: zeros that each piece of `piece` rows adds to, and what the pieces add up to in order. Undefined
// unless wanted.
struct RowSums {
  Index piece;
  Tensor sums;  // (pieces, columns)
  RowSums(Index rows, Index rows_of_piece, Index columns, DType dtype, bool enabled = true)
      : piece(rows_of_piece) {
    if (enabled) sums = zeros({std::max<Index>(1, (rows + piece - 1) / piece), columns}, dtype);
  }
  RowSums(const LastAxis& rows, bool enabled)
      : RowSums(rows.count, rows_per_piece(rows.columns), rows.columns, rows.x.dtype(), enabled) {}

  template <class T>
  T* at(Index row) const {
    return sums.defined() ? sums.data<T>() + row / piece * sums.size(1) : nullptr;
  }
  Tensor total() const {
    if (!sums.defined()) return sums;
    if (sums.size(0) == 1) return select(sums, 0, 0);
    Tensor all = zeros({sums.size(1)}, sums.dtype());
    visit_floating(sums.dtype(), [&]<class T>() {
      dispatch<simd::sum_rows<T>>(sums.size(0), sums.size(1), sums.data<T>(), sums.size(1),
                                  all.data<T>());
    });
    return all;
  }
};

// Σ over the rows of (..., O), as the gradient of a bias is.
inline Tensor sum_of_rows(const Tensor& dy) {
  LastAxis in = rows_of(dy);
  RowSums sums(in.count, 4 * rows_per_piece(in.columns), in.columns, dy.dtype());
  each_piece(dy.dtype(), in.count, sums.piece, [&]<class T>(Index begin, Index end) {
    dispatch<simd::sum_rows<T>>(end - begin, in.columns, in.at<T>(begin), in.ld, sums.at<T>(begin));
  });
  return sums.total();
}

// scale·dy, and 0 where y = 0
inline Tensor relu_grad(const Tensor& y, const Tensor& dy, double scale) {
  Tensor out = y.contiguous(), dy_flat = dy.contiguous(), dx = empty(dy.shape(), dy.dtype());
  each_elements(dx, [&]<class T>(Index begin, Index end) {
    dispatch<simd::relu_grad<T>>(end - begin, out.data<T>() + begin, dy_flat.data<T>() + begin,
                                 static_cast<T>(scale), dx.data<T>() + begin);
  });
  return dx;
}

// p in [0, 1).
inline DropSpec drop_spec(double p, RandomKey key) {
  return {key.seed, key.stream, word_threshold(p), 1 / (1 - p)};
}

}  // namespace glim
