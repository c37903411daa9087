// The gradient of softmax over the last axis (autograd/ops/softmax.cpp) in one pass over a row, which writes
// dx over a copy of dy.
#pragma once

#include "autograd/kernels/rows.hpp"

namespace glim::kernels {

// y (dy - Σ dy y)
inline Tensor softmax_grad(const Tensor& y, const Tensor& dy) {
  Rows p = rows_of(y);
  Tensor dx = dy.contiguous();
  if (dx.storage() == dy.storage()) dx = dx.clone();
  each_rows(p, [&]<class T>(Index begin, Index end) {
    dispatch<simd::softmax_grad<T>>(end - begin, p.columns, p.at<T>(begin), p.ld,
                                    dx.data<T>() + begin * p.columns, p.columns, T(0));
  });
  return dx;
}

}  // namespace glim::kernels
