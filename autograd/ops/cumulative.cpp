// Functions of all elements up to each one, along an axis.
#include <limits>

#include "autograd/ops.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace ops {

struct Cumsum final : Unary<Cumsum> {
  static constexpr Formula formula{"cumsum",
                                   "y_i = Σ_{j<=i} x_j, or Σ_{j>=i} x_j",
                                   {"dx_j = Σ_{i>=j} dy_i, from the other end"}};
  Cumsum(int a, bool from_far_end) : axis(a), reverse(from_far_end) {}
  Tensor forward(const Tensor& x) { return cumsum(x, axis, reverse); }
  Var dx(const Var& dy) const { return cumsum(dy, axis, !reverse); }
  Arguments arguments() const override { return {{"axis", axis}, {"reverse", reverse}}; }
  int axis;
  bool reverse;
};

// All elements but the first, or all but the last.
Var without_first(const Var& x, int axis) { return slice(x, axis, 1, x.size(axis)); }
Var without_last(const Var& x, int axis) {
  return slice(x, axis, 0, std::max<Index>(0, x.size(axis) - 1));
}

// A recurrence's gradient is the recurrence from the other end.
struct LinearRecurrence final : Binary<LinearRecurrence> {
  static constexpr Formula formula{"linear_recurrence",
                                   "y_i = a_{i-1} y_{i-1} + b_i, or a_i y_{i+1} + b_i",
                                   {"da_{i-1} = db_i y_{i-1}, or da_i = db_i y_{i+1}",
                                    "db_i = dy_i + a_i db_{i+1}, from the other end"}};
  LinearRecurrence(int along, bool from_far_end) : axis(along), reverse(from_far_end) {}
  Tensor forward(const Tensor& a, const Tensor& b) {
    save(A);
    if (needs_grad(A)) save_output();
    return linear_recurrence(a, b, axis, reverse);
  }
  Var da(const Var& dy) const {
    Var neighbour = reverse ? without_first(y(), axis) : without_last(y(), axis);
    return (reverse ? without_last : without_first)(db(dy), axis) * neighbour;
  }
  Var db(const Var& dy) const { return linear_recurrence(a(), dy, axis, !reverse); }
  Arguments arguments() const override { return {{"axis", axis}, {"reverse", reverse}}; }
  int axis;
  bool reverse;
};

OrderedVar at_places(const Var& x, Index axis, const Tensor& indices) {
  return {gather(x, axis, indices), indices};
}

}  // namespace ops

Var cumsum(const Operand& x, Index axis, bool reverse) {
  return apply(ops::Cumsum(normalize_axis(axis, x->rank(), "cumsum"), reverse), x);
}

Var linear_recurrence(const Operand& a, const Var& b, Index axis, bool reverse) {
  return apply(ops::LinearRecurrence(normalize_axis(axis, b.rank(), "linear_recurrence"), reverse),
               a, b);
}

//   y_0 = x_0, y_i = x_i y_{i-1}: no division, so zeros have their gradients
Var cumprod(const Operand& x, Index axis) {
  require_floating(x->value(), "cumprod");
  CallSite site(x.where());
  const int a = normalize_axis(axis, x->rank(), "cumprod");
  Var first = unslice(slice(x, a, 0, 1), x->shape(), a, 0);
  return linear_recurrence(ops::without_first(x, a), first, a);
}

OrderedVar cummax(const Operand& x, Index axis) {
  CallSite site(x.where());
  return ops::at_places(x, axis, cumargmax(x->value(), axis));
}
OrderedVar cummin(const Operand& x, Index axis) {
  CallSite site(x.where());
  return ops::at_places(x, axis, cumargmin(x->value(), axis));
}

//   y_i = m_i + ln s_i,  s_i = e^(m_{i-1} - m_i) s_{i-1} + e^(x_i - m_i)
// m_i is the largest x_j so far, and a constant: y does not depend on it.
Var logcumsumexp(const Operand& x, Index axis) {
  require_floating(x->value(), "logcumsumexp");
  CallSite site(x.where());
  const int a = normalize_axis(axis, x->rank(), "logcumsumexp");
  const Tensor largest = gather(x->value(), a, cumargmax(x->value(), a)),
               zero = scalar(0, x->dtype());
  // Where the largest is ±∞, y is that, and m is 0.
  const Tensor infinite = equal(abs(largest), std::numeric_limits<double>::infinity());
  const Tensor m = where(infinite, zero, largest);
  const Tensor before = ops::without_last(Var(largest), a).value(),
               now = ops::without_first(Var(largest), a).value();
  const Tensor decay = exp(where(equal(before, now), zero, sub(before, now)));
  const Var s = linear_recurrence(decay, exp(x - m), a);
  return where(infinite, largest, log(where(infinite, scalar(1, x->dtype()), s)) + m);
}

}  // namespace glim
