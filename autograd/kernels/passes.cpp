#include "autograd/kernels/passes.hpp"

#include "autograd/kernels/rows.hpp"

namespace glim::kernels {

Tensor sum_of_rows(const Tensor& dy) {
  Rows in = rows_of(dy);
  Index piece = 4 * rows_per_piece(in.columns);
  Tensor sums = zeros({std::max<Index>(1, (in.count + piece - 1) / piece), in.columns}, dy.dtype());
  visit_floating(dy.dtype(), [&]<class T>() {
    parallel_for(in.count, piece, [&](Index begin, Index end) {
      op_kernels<T>().sum_rows(end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld,
                               sums.data<T>() + begin / piece * in.columns);
    });
  });
  return sum_of_pieces(sums);
}

void relu_grad_into(const Tensor& dx, const Tensor& y, const Tensor& dy, double scale) {
  Tensor out = y.contiguous(), up = dy.contiguous();
  visit_floating(y.dtype(), [&]<class T>() {
    parallel_for(y.numel(), 16384, [&](Index begin, Index end) {
      op_kernels<T>().relu_grad(end - begin, out.data<T>() + begin, up.data<T>() + begin,
                                static_cast<T>(scale), dx.data<T>() + begin);
    });
  });
}

Tensor relu_grad(const Tensor& y, const Tensor& dy, double scale) {
  Tensor dx = empty(y.shape(), y.dtype());
  relu_grad_into(dx, y, dy, scale);
  return dx;
}

Tensor dropout(const Tensor& x, const Tensor& addend, double p, RandomKey key) {
  Tensor in = x.contiguous(), plus = addend.defined() ? addend.contiguous() : addend;
  Tensor y = empty(x.shape(), x.dtype());
  DropSpec spec = drop_spec(p, key);
  visit_floating(x.dtype(), [&]<class T>() {
    parallel_for(x.numel(), 16384, [&](Index begin, Index end) {
      row_kernels<T>().dropout(spec, begin, end - begin, in.data<T>() + begin,
                               data_or_null<T>(plus, begin), y.data<T>() + begin);
    });
  });
  return y;
}

Tensor softmax_grad(const Tensor& y, const Tensor& dy) {
  Rows p = rows_of(y);
  Tensor dx = dy.contiguous();
  if (dx.storage() == dy.storage()) dx = dx.clone();
  visit_floating(dx.dtype(), [&]<class T>() {
    parallel_for(p.count, rows_per_piece(p.columns), [&](Index begin, Index end) {
      op_kernels<T>().softmax_grad(end - begin, p.columns, p.x.data<T>() + begin * p.ld, p.ld,
                                   dx.data<T>() + begin * p.columns, p.columns, T(0));
    });
  });
  return dx;
}

Tensor rotate_pairs(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Rows in = rows_of(x);
  Tensor y = empty(x.shape(), x.dtype()), c = cos.contiguous(), s = sin.contiguous();
  Index length = x.size(-2), pairs = in.columns / 2;
  visit_floating(x.dtype(), [&]<class T>() {
    parallel_for(in.count, rows_per_piece(in.columns), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const T* from = in.x.data<T>() + r * in.ld;
        const T *cosine = c.data<T>() + r % length * pairs,
                *sine = s.data<T>() + r % length * pairs;
        T* to = y.data<T>() + r * in.columns;
        for (Index i = 0; i < pairs; ++i) {
          T a = from[2 * i], b = from[2 * i + 1];
          to[2 * i] = a * cosine[i] - b * sine[i];
          to[2 * i + 1] = a * sine[i] + b * cosine[i];
        }
      }
    });
  });
  return y;
}

}  // namespace glim::kernels
