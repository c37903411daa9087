// Reductions along axes.
#include "tensor/ops/reduce.hpp"

#include "autograd/ops.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

// The shape of x with every reduced axis kept as extent 1.
Shape kept_shape(const Shape& x, const Dims& axes) {
  Shape s = x;
  for (Index a : normalize_axes(axes, x.rank(), "reduce")) s[static_cast<int>(a)] = 1;
  return s;
}

Index count_of(const Shape& x, const Dims& axes) {
  Index n = 1;
  for (Index a : normalize_axes(axes, x.rank(), "reduce")) n *= x[static_cast<int>(a)];
  return n;
}

//   y = Σ x over the axes      dx = dy repeated along them
struct Sum final : Op {
  Sum() = default;
  Sum(Dims axes, bool keepdim) : axes_(axes), keepdim_(keepdim) {}
  std::string_view name() const override { return "sum"; }
  Tensor forward(const Tensor& x) {
    from_ = x.shape();
    return sum(x, axes_, keepdim_);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = broadcast_to(reshape(dy, kept_shape(from_, axes_)), from_);
    return d;
  }

 private:
  Dims axes_;
  bool keepdim_ = false;
  Shape from_;
};

//   y = max x or min x over the axes      dx = dy, shared evenly among the elements equal to y
//   reads x, y
struct Extreme : Op {
  Extreme(bool largest, Dims axes, bool keepdim)
      : largest_(largest), axes_(axes), keepdim_(keepdim) {}
  Tensor forward(const Tensor& x) {
    save(0);
    save_output();
    return largest_ ? max(x, axes_, keepdim_) : min(x, axes_, keepdim_);
  }
  Grads backward(const Var& dy) const override {
    const Tensor& x = saved(0).value();
    Shape kept = kept_shape(x.shape(), axes_);
    Tensor hit = equal(x, output().value().reshape(kept)).to(x.dtype());
    Tensor share = div(hit, sum(hit, axes_, true));
    Grads d;
    d[0] = mul(broadcast_to(reshape(dy, kept), x.shape()), Var(share));
    return d;
  }

 private:
  bool largest_;
  Dims axes_;
  bool keepdim_;
};
struct Max final : Extreme {
  Max() : Extreme(true, {}, false) {}
  Max(Dims axes, bool keepdim) : Extreme(true, axes, keepdim) {}
  std::string_view name() const override { return "max"; }
};
struct Min final : Extreme {
  Min() : Extreme(false, {}, false) {}
  Min(Dims axes, bool keepdim) : Extreme(false, axes, keepdim) {}
  std::string_view name() const override { return "min"; }
};

//   y_i = Σ_{j<=i} x_j      dx_j = Σ_{i>=j} dy_i = Σ_i dy_i - cumsum(dy)_j + dy_j
struct Cumsum final : Op {
  explicit Cumsum(int axis = 0) : axis_(axis) {}
  std::string_view name() const override { return "cumsum"; }
  Tensor forward(const Tensor& x) { return cumsum(x, axis_); }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = add(sub(sum(dy, {axis_}, true), cumsum(dy, axis_)), dy);
    return d;
  }

 private:
  int axis_;
};

}  // namespace

Var sum(const Var& x, const Dims& axes, bool keepdim, Where where) {
  require_floating(x.value(), "sum");
  return apply(where, Sum(axes, keepdim), x);
}
Var mean(const Var& x, const Dims& axes, bool keepdim, Where where) {
  require_floating(x.value(), "mean");
  return mul(sum(x, axes, keepdim, where), 1.0 / static_cast<double>(count_of(x.shape(), axes)),
             where);
}
Var max(const Var& x, const Dims& axes, bool keepdim, Where where) {
  return apply(where, Max(axes, keepdim), x);
}
Var min(const Var& x, const Dims& axes, bool keepdim, Where where) {
  return apply(where, Min(axes, keepdim), x);
}

//   Σ (x - mean)² / (n - correction)
Var var(const Var& x, const Dims& axes, double correction, bool keepdim, Where where) {
  Var centered = sub(x, mean(x, axes, true, where), where);
  double divisor = std::max(0.0, static_cast<double>(count_of(x.shape(), axes)) - correction);
  return mul(sum(mul(centered, centered, where), axes, keepdim, where), 1.0 / divisor, where);
}

Var cumsum(const Var& x, Index axis, Where where) {
  return apply(where, Cumsum(normalize_axis(axis, x.rank(), "cumsum")), x);
}

}  // namespace glim
