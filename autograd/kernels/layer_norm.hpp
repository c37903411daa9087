// Layer norm by rows (autograd/ops/layer_norm.cpp). The rule has a tensor for each of its terms; the kernel
// reads a row once forward and once backward. x̂ never exists: each row's μ and 1/σ are kept, and x̂ is
// computed again. Sums over rows are taken in pieces of rows that depend on D alone, and added in order.
#pragma once

#include "autograd/kernels/rows.hpp"

namespace glim::kernels {

struct LayerNormed {
  Tensor y, mean, inverse_sigma;  // the last two (rows)
};
// gamma and beta (D,) or undefined.
inline LayerNormed layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                              double eps) {
  Rows in = rows_of(x);
  Tensor scale = contiguous_or_none(gamma), shift = contiguous_or_none(beta);
  Tensor y = empty(x.shape(), x.dtype());
  Tensor mean = empty({in.count}, x.dtype()), inverse_sigma = empty({in.count}, x.dtype());
  each_rows(in, [&]<class T>(Index begin, Index end) {
    dispatch<simd::layer_norm<T>>(end - begin, in.columns, in.at<T>(begin), in.ld,
                                  data_or_null<T>(scale), data_or_null<T>(shift),
                                  static_cast<T>(eps), y.data<T>() + begin * in.columns,
                                  mean.data<T>() + begin, inverse_sigma.data<T>() + begin);
  });
  return {y, mean, inverse_sigma};
}

struct LayerNormGradients {
  Tensor x, gamma, beta;  // undefined where not wanted
};
inline LayerNormGradients layer_norm_grad(const Tensor& x, const Tensor& gamma, const Tensor& mean,
                                          const Tensor& inverse_sigma, const Tensor& dy,
                                          bool want_x, bool want_gamma, bool want_beta) {
  Rows in = rows_of(x), dy_rows = rows_of(dy);
  Tensor scale = contiguous_or_none(gamma);
  const Index piece = rows_per_piece(in.columns);
  auto sums = [&](bool wanted) {
    return wanted ? sums_by_piece(in.count, piece, in.columns, x.dtype()) : Tensor();
  };
  Tensor dx = want_x ? empty(dy.shape(), x.dtype()) : Tensor();
  Tensor dgamma = sums(want_gamma), dbeta = sums(want_beta);
  each_rows(in, [&]<class T>(Index begin, Index end) {
    const Index sum = begin / piece * in.columns;
    dispatch<simd::layer_norm_grad<T>>(end - begin, in.columns, in.at<T>(begin), in.ld,
                                       data_or_null<T>(scale), mean.data<T>() + begin,
                                       inverse_sigma.data<T>() + begin, dy_rows.at<T>(begin),
                                       dy_rows.ld, data_or_null<T>(dx, begin * in.columns),
                                       data_or_null<T>(dgamma, sum), data_or_null<T>(dbeta, sum));
  });
  return {dx, sum_of_pieces(dgamma), sum_of_pieces(dbeta)};
}

}  // namespace glim::kernels
