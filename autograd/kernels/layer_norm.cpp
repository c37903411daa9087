#include "autograd/kernels/layer_norm.hpp"

#include "autograd/kernels/rows.hpp"

namespace glim::kernels {

Tensor LayerNorm::forward(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                          double eps) const {
  Rows in = rows_of(x);
  Tensor scale = gamma.defined() ? gamma.contiguous() : gamma;
  Tensor shift = beta.defined() ? beta.contiguous() : beta;
  Tensor y = empty(x.shape(), x.dtype());
  if (!mean.defined()) {
    mean = empty({in.count}, x.dtype());
    inverse_sigma = empty({in.count}, x.dtype());
  }
  visit_floating(x.dtype(), [&]<class T>() {
    parallel_for(in.count, rows_per_piece(in.columns), [&](Index begin, Index end) {
      op_kernels<T>().layer_norm(end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld,
                                 data_or_null<T>(scale), data_or_null<T>(shift),
                                 static_cast<T>(eps), y.data<T>() + begin * in.columns,
                                 mean.data<T>() + begin, inverse_sigma.data<T>() + begin);
    });
  });
  return y;
}

LayerNorm::Gradients LayerNorm::backward(const Tensor& x, const Tensor& gamma, const Tensor& dy,
                                         bool want_x, bool want_gamma, bool want_beta) const {
  Rows in = rows_of(x), up = rows_of(dy);
  Tensor scale = gamma.defined() ? gamma.contiguous() : Tensor();
  Index piece = rows_per_piece(in.columns), pieces = (in.count + piece - 1) / piece;
  Shape sums{std::max<Index>(1, pieces), in.columns};
  Tensor dx = want_x ? empty(dy.shape(), x.dtype()) : Tensor();
  Tensor dgamma = want_gamma ? zeros(sums, x.dtype()) : Tensor();
  Tensor dbeta = want_beta ? zeros(sums, x.dtype()) : Tensor();
  visit_floating(x.dtype(), [&]<class T>() {
    parallel_each(pieces, [&](Index p) {
      Index begin = p * piece, end = std::min(in.count, begin + piece);
      op_kernels<T>().layer_norm_grad(
          end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld, data_or_null<T>(scale),
          mean.data<T>() + begin, inverse_sigma.data<T>() + begin, up.x.data<T>() + begin * up.ld,
          up.ld, data_or_null<T>(dx, begin * in.columns), data_or_null<T>(dgamma, p * in.columns),
          data_or_null<T>(dbeta, p * in.columns));
    });
  });
  return {dx, want_gamma ? sum_of_pieces(dgamma) : dgamma,
          want_beta ? sum_of_pieces(dbeta) : dbeta};
}

}  // namespace glim::kernels
