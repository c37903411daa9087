// RMS norm by rows (autograd/ops/rms_norm.cpp). As in layer norm's kernel, x̂ never exists: each row's 1/ρ is
// kept.
#pragma once

#include "autograd/kernels/rows.hpp"

namespace glim::kernels {

struct RmsNormed {
  Tensor y, inverse_root;  // the last one (rows)
};
// gamma (D,) or undefined.
inline RmsNormed rms_norm(const Tensor& x, const Tensor& gamma, double eps) {
  Rows in = rows_of(x);
  Tensor scale = contiguous_or_none(gamma), y = empty(x.shape(), x.dtype());
  Tensor inverse_root = empty({in.count}, x.dtype());
  each_rows(in, [&]<class T>(Index begin, Index end) {
    dispatch<simd::rms_norm<T>>(end - begin, in.columns, in.at<T>(begin), in.ld,
                                data_or_null<T>(scale), static_cast<T>(eps),
                                y.data<T>() + begin * in.columns, inverse_root.data<T>() + begin);
  });
  return {y, inverse_root};
}

struct RmsNormGradients {
  Tensor x, gamma;  // undefined where not wanted
};
inline RmsNormGradients rms_norm_grad(const Tensor& x, const Tensor& gamma,
                                      const Tensor& inverse_root, const Tensor& dy, bool want_x,
                                      bool want_gamma) {
  Rows in = rows_of(x), dy_rows = rows_of(dy);
  Tensor scale = contiguous_or_none(gamma);
  const Index piece = rows_per_piece(in.columns);
  Tensor dx = want_x ? empty(dy.shape(), x.dtype()) : Tensor();
  Tensor dgamma = want_gamma ? sums_by_piece(in.count, piece, in.columns, x.dtype()) : Tensor();
  each_rows(in, [&]<class T>(Index begin, Index end) {
    dispatch<simd::rms_norm_grad<T>>(end - begin, in.columns, in.at<T>(begin), in.ld,
                                     data_or_null<T>(scale), inverse_root.data<T>() + begin,
                                     dy_rows.at<T>(begin), dy_rows.ld,
                                     data_or_null<T>(dx, begin * in.columns),
                                     data_or_null<T>(dgamma, begin / piece * in.columns));
  });
  return {dx, sum_of_pieces(dgamma)};
}

}  // namespace glim::kernels
