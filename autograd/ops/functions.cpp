// Element-wise functions of one tensor; x, y, dx, dy have one shape.
#include <cmath>
#include <numbers>

#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"

namespace glim {
namespace ops {

// y = f(x), whose rule reads x, or y.
template <class Self, Tensor (*f)(const Tensor&)>
struct OfInput : Unary<Self> {
  Tensor forward(const Tensor& x) {
    this->save(this->X);
    return f(x);
  }
};
template <class Self, Tensor (*f)(const Tensor&)>
struct OfOutput : Unary<Self> {
  Tensor forward(const Tensor& x) {
    this->save_output();
    return f(x);
  }
};

struct Exp final : OfOutput<Exp, exp> {
  static constexpr Formula formula{"exp", "y = e^x", {"dx = dy ⊙ y"}};
  Var dx(const Var& dy) const { return dy * y(); }
};

struct Expm1 final : OfInput<Expm1, expm1> {
  static constexpr Formula formula{"expm1", "y = e^x - 1", {"dx = dy ⊙ e^x"}};
  Var dx(const Var& dy) const { return dy * exp(x()); }
};

struct Log final : OfInput<Log, log> {
  static constexpr Formula formula{"log", "y = ln x", {"dx = dy / x"}};
  Var dx(const Var& dy) const { return dy / x(); }
};

struct Sqrt final : OfOutput<Sqrt, sqrt> {
  static constexpr Formula formula{"sqrt", "y = √x", {"dx = dy / (2 y)"}};
  Var dx(const Var& dy) const { return 0.5 * dy / y(); }
};

struct Sin final : OfInput<Sin, sin> {
  static constexpr Formula formula{"sin", "y = sin x", {"dx = dy ⊙ cos x"}};
  Var dx(const Var& dy) const { return dy * cos(x()); }
};

struct Cos final : OfInput<Cos, cos> {
  static constexpr Formula formula{"cos", "y = cos x", {"dx = -dy ⊙ sin x"}};
  Var dx(const Var& dy) const { return -(dy * sin(x())); }
};

struct Abs final : OfInput<Abs, abs> {
  static constexpr Formula formula{"abs", "y = |x|", {"dx = dy ⊙ sign(x), 0 at the kink"}};
  Var dx(const Var& dy) const {
    const Tensor& x = this->x().value();
    return where(equal(x, 0), scalar(0, dy.dtype()), dy * sign(x));
  }
};

struct Erf final : OfInput<Erf, erf> {
  static constexpr Formula formula{"erf", "y = erf x", {"dx = 2/√π dy ⊙ e^(-x²)"}};
  Var dx(const Var& dy) const { return dy * exp(-(x() * x())) * (2 * std::numbers::inv_sqrtpi); }
};

struct Softplus final : OfInput<Softplus, softplus> {
  static constexpr Formula formula{"softplus", "y = ln(1 + e^x)", {"dx = dy ⊙ sigmoid(x)"}};
  Var dx(const Var& dy) const { return dy * sigmoid(x()); }
};

struct Clamp final : Unary<Clamp> {
  static constexpr Formula formula{
      "clamp", "y = min(max(x, low), high)", {"dx = dy within the bounds, else 0"}};
  Clamp(double l, double h) : low(l), high(h) {}
  Tensor forward(const Tensor& x) {
    save(X);
    return clamp(x, low, high);
  }
  Var dx(const Var& dy) const {
    const Tensor& x = this->x().value();
    return where(logical_or(less(x, low), greater(x, high)), scalar(0, dy.dtype()), dy);
  }
  Arguments arguments() const override { return {{"low", low}, {"high", high}}; }
  double low, high;
};

// ---- with kernels, which take one pass where the rule takes one for each operation ----

// dx from dy and what forward saved: y of tanh and sigmoid, x of silu and gelu.
Tensor function_grad(ElementFunction f, const Var& saved, const Tensor& dy) {
  Tensor in = saved.value().contiguous(), dy_flat = dy.contiguous();
  Tensor dx = empty(dy.shape(), dy.dtype());
  each_elements(dx, [&]<class T>(Index begin, Index end) {
    dispatch<simd::function_grad<T>>(f, end - begin, in.data<T>() + begin,
                                     dy_flat.data<T>() + begin, dx.data<T>() + begin);
  });
  return dx;
}

struct Tanh final : OfOutput<Tanh, tanh> {
  static constexpr Formula formula{"tanh", "y = tanh x", {"dx = dy ⊙ (1 - y²)"}};
  Var dx(const Var& dy) const { return dy * (1 - y() * y()); }
  Tensor kernel(const Tensor& dy) const { return function_grad(ElementFunction::Tanh, y(), dy); }
};

struct Sigmoid final : OfOutput<Sigmoid, sigmoid> {
  static constexpr Formula formula{"sigmoid", "y = 1/(1 + e^-x)", {"dx = dy ⊙ y ⊙ (1 - y)"}};
  Var dx(const Var& dy) const { return dy * y() * (1 - y()); }
  Tensor kernel(const Tensor& dy) const { return function_grad(ElementFunction::Sigmoid, y(), dy); }
};

struct Relu final : OfOutput<Relu, relu> {
  static constexpr Formula formula{"relu", "y = max(0, x)", {"dx = dy, 0 where y = 0"}};
  Var dx(const Var& dy) const {
    return where(equal(y().value(), 0), scalar(0, dy.dtype()), dy);  // NaN passes dy on
  }
  Tensor kernel(const Tensor& dy) const { return relu_grad(y().value(), dy, 1); }
};

struct Silu final : OfInput<Silu, silu> {
  static constexpr Formula formula{
      "silu", "y = x ⊙ s, s = sigmoid(x)", {"dx = dy ⊙ s ⊙ (1 + x ⊙ (1 - s))"}};
  Var dx(const Var& dy) const {
    Var s = sigmoid(x());
    return dy * s * (1 + x() * (1 - s));
  }
  Tensor kernel(const Tensor& dy) const { return function_grad(ElementFunction::Silu, x(), dy); }
};

struct Gelu final : Unary<Gelu> {
  static constexpr Formula formula{
      "gelu",
      "y = x ⊙ Φ, Φ = (1 + erf(x/√2))/2; or y = x ⊙ (1 + t)/2, t = tanh u, "
      "u = √(2/π) (x + 0.044715 x³)",
      {"dx = dy ⊙ (Φ + x ⊙ φ), φ = e^(-x²/2)/√(2π); "
       "or dx = dy ⊙ ((1 + t)/2 + x ⊙ (1 - t²)/2 ⊙ u')"},
      "Hendrycks & Gimpel 2016"};
  explicit Gelu(GeluForm f) : form(f) {}
  Tensor forward(const Tensor& x) {
    save(X);
    return gelu(x, form);
  }
  Var dx(const Var& dy) const {
    const Var& x = this->x();
    if (form == GeluForm::Erf) {
      Var cdf = 0.5 * (1 + erf(x / std::numbers::sqrt2));
      Var pdf = exp(-0.5 * (x * x)) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
      return dy * (cdf + x * pdf);
    }
    const double root = std::sqrt(2 / std::numbers::pi), cubic = 0.044715;
    Var t = tanh(root * (x + cubic * (x * x * x)));
    Var du = root * (1 + 3 * cubic * (x * x));
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du);
  }
  Tensor kernel(const Tensor& dy) const {
    return function_grad(
        form == GeluForm::Erf ? ElementFunction::GeluErf : ElementFunction::GeluTanh, x(), dy);
  }
  Arguments arguments() const override { return {{"tanh", form == GeluForm::Tanh}}; }
  GeluForm form;
};

}  // namespace ops

Var exp(const Operand& x) { return apply(ops::Exp{}, x); }
Var expm1(const Operand& x) { return apply(ops::Expm1{}, x); }
Var log(const Operand& x) { return apply(ops::Log{}, x); }
Var sqrt(const Operand& x) { return apply(ops::Sqrt{}, x); }
Var sin(const Operand& x) { return apply(ops::Sin{}, x); }
Var cos(const Operand& x) { return apply(ops::Cos{}, x); }
Var abs(const Operand& x) { return apply(ops::Abs{}, x); }
Var tanh(const Operand& x) { return apply(ops::Tanh{}, x); }
Var sigmoid(const Operand& x) { return apply(ops::Sigmoid{}, x); }
Var erf(const Operand& x) { return apply(ops::Erf{}, x); }
Var relu(const Operand& x) { return apply(ops::Relu{}, x); }
Var silu(const Operand& x) { return apply(ops::Silu{}, x); }
Var clamp(const Operand& x, double low, double high) { return apply(ops::Clamp(low, high), x); }
Var gelu(const Operand& x, GeluForm form) { return apply(ops::Gelu(form), x); }

Var softplus(const Operand& x, double beta) {
  CallSite site(x.where());
  return beta == 1 ? apply(ops::Softplus{}, x) : apply(ops::Softplus{}, beta * x) / beta;
}
// e^x of the side that is not chosen could be ∞, and its gradient 0 · ∞.
Var elu(const Operand& x, double alpha) {
  CallSite site(x.where());
  const Tensor positive = greater(x->value(), 0);
  return where(positive, x, alpha * expm1(where(positive, scalar(0, x->dtype()), x)));
}
Var leaky_relu(const Operand& x, double negative_slope) {
  CallSite site(x.where());
  return where(greater(x->value(), 0), x, negative_slope * x);
}

}  // namespace glim
