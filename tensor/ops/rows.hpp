// For the sources of tensor/ops/reduce.hpp: rows of a tensor along the axes that are reduced.
#pragma once

#include <algorithm>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"
#include "tensor/tensor.hpp"

namespace glim {

// x with the reduced axes moved last and merged, as (rows, n), and where the result goes.
struct RowPlan {
  Tensor x;      // (rows..., reduced...) permuted view
  Shape kept;    // result shape without reduced axes
  Shape result;  // with or without them, as asked
  Index rows, n;
};

inline RowPlan plan_rows(const Tensor& x, const Dims& axes, bool keepdim, std::string_view op) {
  Dims reduced;
  try {
    reduced = normalize_axes(axes, x.rank(), op);
  } catch (IndexError& e) {
    throw with_operands(std::move(e), NamedOperand("x", x));
  }
  RowPlan p;
  Dims order;
  Index n = 1;
  int r = 0;
  for (int i = 0; i < x.rank(); ++i) {
    if (r < reduced.rank() && reduced[r] == i) {
      ++r;
      if (keepdim) p.result.push_back(1);
      n *= x.shape()[i];
    } else {
      order.push_back(i);
      p.kept.push_back(x.shape()[i]);
      p.result.push_back(x.shape()[i]);
    }
  }
  for (Index a : reduced) order.push_back(a);
  p.x = permute(x, order);
  p.n = n;
  p.rows = numel_of(p.kept);
  return p;
}

// y[row] = reduce(pointer, n) for rows of a contiguous (rows, n) tensor.
template <class T, class Y, class F>
Tensor reduce_rows(const RowPlan& p, DType out, const F& f) {
  Tensor y = empty(p.kept, out);
  Tensor x = p.x.contiguous();
  const T* px = x.data<T>();
  Y* py = y.data<Y>();
  parallel_for(p.rows, std::max<Index>(1, 16384 / std::max<Index>(p.n, 1)),
               [&](Index begin, Index end) {
                 for (Index r = begin; r < end; ++r) py[r] = f(px + r * p.n, p.n);
               });
  return reshape(y, p.result);
}

template <class F>
Tensor over_floats(const Tensor& x, std::string_view op, const F& f) {
  require_floating(x, op);
  return visit_floating(x.dtype(), f);
}

// y = f(row) for every row along `axis`, keeping the shape.
template <class T, class F>
Tensor map_rows(const Tensor& x, Index axis, std::string_view op, const F& f) {
  int a = normalize_axis(axis, x.rank(), op);
  bool last = a == x.rank() - 1;
  Tensor in = (last ? x : transpose(x, a, -1)).contiguous();
  Tensor y = empty(in.shape(), x.dtype());
  Index n = in.shape().back(), rows = n ? in.numel() / n : 0;
  const T* px = in.data<T>();
  T* py = y.data<T>();
  parallel_for(rows, std::max<Index>(1, 8192 / std::max<Index>(n, 1)), [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) f(px + r * n, py + r * n, n);
  });
  return last ? y : transpose(y, a, -1);
}

}  // namespace glim
