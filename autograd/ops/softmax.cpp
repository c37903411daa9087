// Softmax and its logarithms along one axis (Bridle 1990).
#include <limits>

#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace ops {

Var softmax_gradient(const Var& y, const Var& dy, int axis) {
  return y * (dy - sum(dy * y, {axis}, true));
}

// The gradient over the last axis, a row at a time: Σ dy ⊙ y, then dx over a copy of dy.
Tensor softmax_kernel(const Tensor& y, const Tensor& dy) {
  LastAxis p = rows_of(y);
  Tensor dx = dy.contiguous();
  if (dx.storage() == dy.storage()) dx = dx.clone();
  each_rows(p, [&]<class T>(Index begin, Index end) {
    dispatch<simd::softmax_grad<T>>(end - begin, p.columns, p.at<T>(begin), p.ld,
                                    dx.data<T>() + begin * p.columns, p.columns, T(0));
  });
  return dx;
}

struct Softmax final : Unary<Softmax> {
  static constexpr Formula formula{"softmax",
                                   "y = e^{x - max} / Σ e^{x - max}",
                                   {"dx = y ⊙ (dy - Σ(dy ⊙ y)), each row sums to 0"}};
  explicit Softmax(int a) : axis(a) {}
  Tensor forward(const Tensor& x) {
    save_output();
    return softmax(x, axis);
  }
  Var dx(const Var& dy) const { return softmax_gradient(y(), dy, axis); }
  Tensor kernel(const Tensor& dy) const {
    return axis == dy.rank() - 1 ? softmax_kernel(y().value(), dy)
                                 : softmax_gradient(y(), dy, axis).value();
  }
  Arguments arguments() const override { return {{"axis", axis}}; }
  int axis;
};

struct MaskedSoftmax final : Unary<MaskedSoftmax> {
  static constexpr Formula formula{
      "masked_softmax",
      "y_i = keep_i e^{x_i - max} / Σ_j keep_j e^{x_j - max}, 0 when nothing is kept",
      {"dx = y ⊙ (dy - Σ(dy ⊙ y)), exactly 0 where not kept"}};
  explicit MaskedSoftmax(Tensor k) : keep(std::move(k)) {}
  Tensor forward(const Tensor& x) {
    save_output();
    Tensor masked = where(keep, x, scalar(-std::numeric_limits<double>::infinity(), x.dtype()));
    if (masked.shape() != x.shape())
      throw ShapeError("masked_softmax", "keep does not broadcast to x",
                       {{"x", x}, {"keep", keep}});
    return softmax(masked, -1);
  }
  Var dx(const Var& dy) const { return softmax_gradient(y(), dy, y().rank() - 1); }
  Tensor kernel(const Tensor& dy) const { return softmax_kernel(y().value(), dy); }
  Arguments arguments() const override { return {{"keep", keep}}; }
  Tensor keep;
};

struct LogSoftmax final : Unary<LogSoftmax> {
  static constexpr Formula formula{"log_softmax", "y = x - log Σ e^x", {"dx = dy - e^y ⊙ Σ(dy)"}};
  explicit LogSoftmax(int a) : axis(a) {}
  Tensor forward(const Tensor& x) {
    save_output();
    return log_softmax(x, axis);
  }
  Var dx(const Var& dy) const {
    Var total = sum(dy, {axis}, true);
    return dy - exp(y()) * total;
  }
  Arguments arguments() const override { return {{"axis", axis}}; }
  int axis;
};

struct LogSumExp final : Unary<LogSumExp> {
  static constexpr Formula formula{
      "logsumexp", "y = log Σ e^x", {"dx = dy ⊙ e^{x - y} = dy ⊙ softmax(x)"}};
  LogSumExp(int a, bool keep) : axis(a), keepdim(keep) {}
  Tensor forward(const Tensor& x) {
    save(X);
    return logsumexp(x, axis, keepdim);
  }
  Var dx(const Var& dy) const {
    Var probs = softmax(x(), axis);
    return (keepdim ? dy : unsqueeze(dy, axis)) * probs;
  }
  Arguments arguments() const override { return {{"axis", axis}, {"keepdim", keepdim}}; }
  int axis;
  bool keepdim;
};

}  // namespace ops

Var softmax(const Operand& x, Index axis) {
  return apply(ops::Softmax(normalize_axis(axis, x->rank(), "softmax")), x);
}
Var masked_softmax(const Operand& x, const Tensor& keep) {
  return apply(ops::MaskedSoftmax(keep), x);
}
Var log_softmax(const Operand& x, Index axis) {
  return apply(ops::LogSoftmax(normalize_axis(axis, x->rank(), "log_softmax")), x);
}
Var logsumexp(const Operand& x, Index axis, bool keepdim) {
  return apply(ops::LogSumExp(normalize_axis(axis, x->rank(), "logsumexp"), keepdim), x);
}

}  // namespace glim
