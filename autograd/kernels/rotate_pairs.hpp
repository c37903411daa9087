// The rotation of autograd/ops/rotate_pairs.cpp, row by row. Its gradient is a rotation too.
#pragma once

#include "autograd/kernels/rows.hpp"

namespace glim::kernels {

// x (..., T, D), cos and sin (T, D/2).
inline Tensor rotate_pairs(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Rows in = rows_of(x);
  Tensor y = empty(x.shape(), x.dtype()), c = cos.contiguous(), s = sin.contiguous();
  Index length = x.size(-2), pairs = in.columns / 2;
  each_rows(in, [&]<class T>(Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Index position = r % length * pairs;
      const T *from = in.at<T>(r), *cosine = c.data<T>() + position, *sine = s.data<T>() + position;
      T* to = y.data<T>() + r * in.columns;
      for (Index i = 0; i < pairs; ++i) {
        T a = from[2 * i], b = from[2 * i + 1];
        to[2 * i] = a * cosine[i] - b * sine[i];
        to[2 * i + 1] = a * sine[i] + b * cosine[i];
      }
    }
  });
  return y;
}

}  // namespace glim::kernels
