// Reductions along axes.
#include "tensor/ops/reduce.hpp"

#include "autograd/ops.hpp"

namespace glim {
namespace ops {

// The shape of x with every reduced axis kept as extent 1.
Shape kept_shape(const Shape& x, const Dims& axes) {
  Shape s = x;
  for (Index a : normalize_axes(axes, x.rank(), "reduce")) s[static_cast<int>(a)] = 1;
  return s;
}

double count_of(const Shape& x, const Dims& axes) {
  Index n = 1;
  for (Index a : normalize_axes(axes, x.rank(), "reduce")) n *= x[static_cast<int>(a)];
  return static_cast<double>(n);
}

struct Sum final : Unary<Sum> {
  static constexpr Formula formula{"sum", "y = Σ x over axes", {"dx = dy repeated along axes"}};
  Sum(const Dims& a, bool keep) : axes(a), keepdim(keep) {}
  Tensor forward(const Tensor& x) { return sum(x, axes, keepdim); }
  Var dx(const Var& dy) const {
    return broadcast_to(reshape(dy, kept_shape(x_shape, axes)), x_shape);
  }
  Arguments arguments() const override { return {{"axes", axes}, {"keepdim", keepdim}}; }
  Dims axes;
  bool keepdim;
};

// dy repeated along the axes, shared evenly among the elements that equal y.
Var shared(const Var& dy, const Tensor& x, const Tensor& y, const Dims& axes) {
  Shape kept = kept_shape(x.shape(), axes);
  Tensor hit = logical_or(equal(x, reshape(y, kept)), not_equal(x, x));  // where y is NaN, that
  Tensor count = sum(hit, axes, true).to(x.dtype());
  return where(hit, reshape(dy, kept) / count, Var(scalar(0, dy.dtype())));
}

template <class Self, Tensor (*f)(const Tensor&, const Dims&, bool)>
struct Extremum : Unary<Self> {
  Extremum(const Dims& a, bool keep) : axes(a), keepdim(keep) {}
  Tensor forward(const Tensor& x) {
    this->save(this->X);
    this->save_output();
    return f(x, axes, keepdim);
  }
  Var dx(const Var& dy) const { return shared(dy, this->x().value(), this->y().value(), axes); }
  Arguments arguments() const override { return {{"axes", axes}, {"keepdim", keepdim}}; }
  Dims axes;
  bool keepdim;
};

struct Max final : Extremum<Max, max> {
  using Extremum::Extremum;
  static constexpr Formula formula{
      "max", "y = max x over the axes", {"dx = dy, shared evenly among the elements equal to y"}};
};

struct Min final : Extremum<Min, min> {
  using Extremum::Extremum;
  static constexpr Formula formula{
      "min", "y = min x over the axes", {"dx = dy, shared evenly among the elements equal to y"}};
};

}  // namespace ops

Var sum(const Operand& x, const Dims& axes, bool keepdim) {
  require_floating(x->value(), "sum");
  return apply(ops::Sum(axes, keepdim), x);
}
Var mean(const Operand& x, const Dims& axes, bool keepdim) {
  require_floating(x->value(), "mean");
  CallSite site(x.where());
  return sum(x, axes, keepdim) / ops::count_of(x->shape(), axes);
}
Var max(const Operand& x, const Dims& axes, bool keepdim) {
  return apply(ops::Max(axes, keepdim), x);
}
Var min(const Operand& x, const Dims& axes, bool keepdim) {
  return apply(ops::Min(axes, keepdim), x);
}

//   Σ (x - mean)² / (n - correction)
Var var(const Operand& x, const Dims& axes, double correction, bool keepdim) {
  CallSite site(x.where());
  Var centered = x - mean(x, axes, true);
  return sum(centered * centered, axes, keepdim) /
         std::max(0.0, ops::count_of(x->shape(), axes) - correction);
}

}  // namespace glim
