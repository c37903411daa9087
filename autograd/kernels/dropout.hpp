// Dropout in one pass (autograd/ops/dropout.cpp): the mask is drawn as it is applied, and never exists. The
// sum with another tensor is part of the pass.
#pragma once

#include "autograd/kernels/rows.hpp"

namespace glim::kernels {

// addend + dropout(x), or dropout(x) where addend is undefined; p in [0, 1).
inline Tensor dropout(const Tensor& x, const Tensor& addend, double p, RandomKey key) {
  Tensor in = x.contiguous(), plus = contiguous_or_none(addend), y = empty(x.shape(), x.dtype());
  DropSpec spec = drop_spec(p, key);
  each_elements(y, [&]<class T>(Index begin, Index end) {
    dispatch<simd::dropout<T>>(spec, begin, end - begin, in.data<T>() + begin,
                               data_or_null<T>(plus, begin), y.data<T>() + begin);
  });
  return y;
}

}  // namespace glim::kernels
