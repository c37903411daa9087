// Softmax and its logarithms along one axis (Bridle 1990).
#include <limits>

#include "autograd/ops/fused.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

// y (dy - Σ dy y) along the axis; rows that lie together in one pass, unless it is recorded itself.
Var softmax_gradient(const Var& y, const Var& dy, int axis, bool recording) {
  if (recording || axis != y.rank() - 1) {
    Var weighted = mul(dy, y);
    return sub(weighted, mul(y, sum(weighted, {axis}, true)));
  }
  Rows p = rows_of(y.value());
  Tensor dx = dy.value().contiguous();
  if (dx.storage() == dy.value().storage()) dx = dx.clone();
  visit_floating(dx, "softmax", [&]<class T>() {
    parallel_for(p.count, rows_per_piece(p.columns), [&](Index begin, Index end) {
      row_kernels<T>().softmax_grad(end - begin, p.columns, p.x.data<T>() + begin * p.ld, p.ld,
                                    dx.data<T>() + begin * p.columns, p.columns, T(0));
    });
  });
  return Var(dx);
}

//   y = e^{x - max} / Σ e^{x - max}
//   dx = y (dy - Σ dy y)                    reads y; each row of dx sums to 0
struct Softmax final : Op {
  explicit Softmax(int axis = 0) : axis_(axis) {}
  std::string_view name() const override { return "softmax"; }
  Tensor forward(const Tensor& x) {
    save_output();
    return softmax(x, axis_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = softmax_gradient(output(), dy, axis_, recording());
    return d;
  }

 private:
  int axis_;
};

//   y_i = keep_i e^{x_i - max} / Σ_j keep_j e^{x_j - max}, 0 when nothing is kept
//   dx = y (dy - Σ dy y)                    reads y; exactly 0 where not kept
struct MaskedSoftmax final : Op {
  MaskedSoftmax() = default;
  explicit MaskedSoftmax(Tensor keep) : keep_(std::move(keep)) {}
  std::string_view name() const override { return "masked_softmax"; }
  Tensor forward(const Tensor& x) {
    save_output();
    Tensor low = scalar(-std::numeric_limits<double>::infinity(), x.dtype());
    Tensor masked = where(keep_, x, low);
    if (masked.shape() != x.shape())
      throw with_operands(ShapeError("masked_softmax", "keep does not broadcast to x"),
                          Operand("x", x), Operand("keep", keep_));
    return softmax(masked, -1);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = softmax_gradient(output(), dy, output().rank() - 1, recording());
    return d;
  }

 private:
  Tensor keep_;
};

//   y = x - log Σ e^x
//   dx = dy - e^y Σ dy                      reads y
struct LogSoftmax final : Op {
  explicit LogSoftmax(int axis = 0) : axis_(axis) {}
  std::string_view name() const override { return "log_softmax"; }
  Tensor forward(const Tensor& x) {
    save_output();
    return log_softmax(x, axis_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = sub(dy, mul(exp(output()), sum(dy, {axis_}, true)));
    return d;
  }

 private:
  int axis_;
};

//   y = log Σ e^x
//   dx = dy e^{x - y} = dy softmax(x)       reads x
struct LogSumExp final : Op {
  explicit LogSumExp(int axis = 0, bool keepdim = false) : axis_(axis), keepdim_(keepdim) {}
  std::string_view name() const override { return "logsumexp"; }
  Tensor forward(const Tensor& x) {
    save(0);
    return logsumexp(x, axis_, keepdim_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = mul(keepdim_ ? dy : unsqueeze(dy, axis_), softmax(saved(0), axis_));
    return d;
  }

 private:
  int axis_;
  bool keepdim_;
};

}  // namespace

Var softmax(const Var& x, Index axis, Where where) {
  return apply(where, Softmax(normalize_axis(axis, x.rank(), "softmax")), x);
}
Var masked_softmax(const Var& x, const Tensor& keep, Where where) {
  return apply(where, MaskedSoftmax(keep), x);
}
Var log_softmax(const Var& x, Index axis, Where where) {
  return apply(where, LogSoftmax(normalize_axis(axis, x.rank(), "log_softmax")), x);
}
Var logsumexp(const Var& x, Index axis, bool keepdim, Where where) {
  return apply(where, LogSumExp(normalize_axis(axis, x.rank(), "logsumexp"), keepdim), x);
}

}  // namespace glim
