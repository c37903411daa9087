#include "autograd/kernels/rms_norm.hpp"

#include "autograd/kernels/rows.hpp"

namespace glim::kernels {

Tensor RmsNorm::forward(const Tensor& x, const Tensor& gamma, double eps) const {
  Rows in = rows_of(x);
  Tensor scale = gamma.defined() ? gamma.contiguous() : gamma;
  Tensor y = empty(x.shape(), x.dtype());
  if (!inverse_root.defined()) inverse_root = empty({in.count}, x.dtype());
  visit_floating(x.dtype(), [&]<class T>() {
    parallel_for(in.count, rows_per_piece(in.columns), [&](Index begin, Index end) {
      op_kernels<T>().rms_norm(end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld,
                               data_or_null<T>(scale), static_cast<T>(eps),
                               y.data<T>() + begin * in.columns, inverse_root.data<T>() + begin);
    });
  });
  return y;
}

RmsNorm::Gradients RmsNorm::backward(const Tensor& x, const Tensor& gamma, const Tensor& dy,
                                     bool want_x, bool want_gamma) const {
  Rows in = rows_of(x), up = rows_of(dy);
  Tensor scale = gamma.defined() ? gamma.contiguous() : Tensor();
  Index piece = rows_per_piece(in.columns), pieces = (in.count + piece - 1) / piece;
  Tensor dx = want_x ? empty(dy.shape(), x.dtype()) : Tensor();
  Tensor dgamma =
      want_gamma ? zeros({std::max<Index>(1, pieces), in.columns}, x.dtype()) : Tensor();
  visit_floating(x.dtype(), [&]<class T>() {
    parallel_each(pieces, [&](Index p) {
      Index begin = p * piece, end = std::min(in.count, begin + piece);
      op_kernels<T>().rms_norm_grad(
          end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld, data_or_null<T>(scale),
          inverse_root.data<T>() + begin, up.x.data<T>() + begin * up.ld, up.ld,
          data_or_null<T>(dx, begin * in.columns), data_or_null<T>(dgamma, p * in.columns));
    });
  });
  return {dx, want_gamma ? sum_of_pieces(dgamma) : dgamma};
}

}  // namespace glim::kernels
