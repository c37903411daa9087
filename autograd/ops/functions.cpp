// Element-wise functions of one tensor; x, y, dx, dy have one shape.
#include <cmath>
#include <numbers>

#include "autograd/ops/fused.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

//   y = e^x      dx = dy y      reads y
struct Exp final : Op {
  std::string_view name() const override { return "exp"; }
  Tensor forward(const Tensor& x) {
    save_output();
    return exp(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = mul(dy, output());
    return d;
  }
};

//   y = ln x      dx = dy / x      reads x
struct Log final : Op {
  std::string_view name() const override { return "log"; }
  Tensor forward(const Tensor& x) {
    save(0);
    return log(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = div(dy, saved(0));
    return d;
  }
};

//   y = √x      dx = dy / (2 y)      reads y
struct Sqrt final : Op {
  std::string_view name() const override { return "sqrt"; }
  Tensor forward(const Tensor& x) {
    save_output();
    return sqrt(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = div(mul(dy, 0.5), output());
    return d;
  }
};

//   y = sin x      dx = dy cos x      reads x
struct Sin final : Op {
  std::string_view name() const override { return "sin"; }
  Tensor forward(const Tensor& x) {
    save(0);
    return sin(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = mul(dy, cos(saved(0)));
    return d;
  }
};

//   y = cos x      dx = -dy sin x      reads x
struct Cos final : Op {
  std::string_view name() const override { return "cos"; }
  Tensor forward(const Tensor& x) {
    save(0);
    return cos(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = neg(mul(dy, sin(saved(0))));
    return d;
  }
};

//   y = |x|      dx = dy sign(x)      reads x; 0 at the kink
struct Abs final : Op {
  std::string_view name() const override { return "abs"; }
  Tensor forward(const Tensor& x) {
    save(0);
    return abs(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = mul(dy, Var(sign(saved(0).value())));
    return d;
  }
};

//   y = tanh x      dx = dy (1 - y²)      reads y
struct Tanh final : Op {
  std::string_view name() const override { return "tanh"; }
  Tensor forward(const Tensor& x) {
    save_output();
    return tanh(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = recording() ? mul(dy, add(neg(mul(output(), output())), 1))
                       : Var(tanh_grad(output().value(), dy.value()));
    return d;
  }
};

//   y = 1/(1 + e^-x)      dx = dy y (1 - y)      reads y
struct Sigmoid final : Op {
  std::string_view name() const override { return "sigmoid"; }
  Tensor forward(const Tensor& x) {
    save_output();
    return sigmoid(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = recording() ? mul(dy, mul(output(), add(neg(output()), 1)))
                       : Var(sigmoid_grad(output().value(), dy.value()));
    return d;
  }
};

//   y = erf x      dx = dy 2/√π e^(-x²)      reads x
struct Erf final : Op {
  std::string_view name() const override { return "erf"; }
  Tensor forward(const Tensor& x) {
    save(0);
    return erf(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    d[0] = mul(mul(dy, exp(neg(mul(saved(0), saved(0))))), 2 * std::numbers::inv_sqrtpi);
    return d;
  }
};

//   y = max(0, x)      dx = dy where y > 0, else 0      reads y; 0 at the kink
struct Relu final : Op {
  std::string_view name() const override { return "relu"; }
  Tensor forward(const Tensor& x) {
    save_output();
    return relu(x);
  }
  Grads backward(const Var& dy) const override {
    Grads d;
    if (recording())
      d[0] = where(greater(output().value(), 0.0), dy, Var(scalar(0, dy.dtype())));
    else
      d[0] = Var(relu_grad(output().value(), dy.value(), 1));
    return d;
  }
};

//   y = min(max(x, low), high)      dx = dy within the bounds, else 0      reads x
struct Clamp final : Op {
  Clamp(double low = 0, double high = 0) : low_(low), high_(high) {}
  std::string_view name() const override { return "clamp"; }
  Tensor forward(const Tensor& x) {
    save(0);
    return clamp(x, low_, high_);
  }
  Grads backward(const Var& dy) const override {
    const Tensor& x = saved(0).value();
    Tensor inside = logical_not(logical_or(less(x, low_), greater(x, high_)));
    Grads d;
    d[0] = where(inside, dy, Var(scalar(0, dy.dtype())));
    return d;
  }

 private:
  double low_, high_;
};

//   y = x s, s = sigmoid(x)      dx = dy s (1 + x (1 - s))      reads x
struct Silu final : Op {
  std::string_view name() const override { return "silu"; }
  Tensor forward(const Tensor& x) {
    save(0);
    return silu(x);
  }
  Grads backward(const Var& dy) const override {
    const Var& x = saved(0);
    Grads d;
    if (!recording()) {
      d[0] = Var(silu_grad(x.value(), dy.value()));
      return d;
    }
    Var s = sigmoid(x);
    d[0] = mul(dy, mul(s, add(mul(x, add(neg(s), 1)), 1)));
    return d;
  }
};

//   erf form:  y = x Φ, Φ = (1 + erf(x/√2))/2
//              dx = dy (Φ + x φ), φ = e^(-x²/2)/√(2π)                 reads x
//   tanh form: y = x (1 + t)/2, t = tanh u, u = √(2/π) (x + 0.044715 x³)
//              dx = dy ((1 + t)/2 + x (1 - t²)/2 · u'),
//              u' = √(2/π) (1 + 3·0.044715 x²)                       reads x
struct Gelu final : Op {
  explicit Gelu(GeluForm form = GeluForm::Erf) : form_(form) {}
  std::string_view name() const override { return "gelu"; }
  Tensor forward(const Tensor& x) {
    save(0);
    return gelu(x, form_);
  }
  Grads backward(const Var& dy) const override {
    const Var& x = saved(0);
    Grads d;
    if (!recording()) {
      d[0] = Var(gelu_grad(x.value(), dy.value(), form_));
    } else if (form_ == GeluForm::Erf) {
      Var cdf = half_one_plus(erf(mul(x, std::numbers::sqrt2 / 2)));
      Var pdf = mul(exp(mul(mul(x, x), -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
      d[0] = mul(dy, add(cdf, mul(x, pdf)));
    } else {
      Var t = tanh(inner(x));
      Var slope = mul(add(mul(mul(x, x), 3 * kCubic), 1), kRoot);
      Var curve = mul(mul(mul(x, 0.5), add(neg(mul(t, t)), 1)), slope);
      d[0] = mul(dy, add(half_one_plus(t), curve));
    }
    return d;
  }

 private:
  static constexpr double kCubic = 0.044715;
  static inline const double kRoot = std::sqrt(2 / std::numbers::pi);
  template <class T>
  static T half_one_plus(const T& v) {
    return mul(add(v, 1.0), 0.5);
  }
  template <class T>
  static T inner(const T& x) {
    return mul(add(x, mul(mul(mul(x, x), x), kCubic)), kRoot);
  }
  GeluForm form_;
};

}  // namespace

Var exp(const Var& x, Where where) { return apply(where, Exp{}, x); }
Var log(const Var& x, Where where) { return apply(where, Log{}, x); }
Var sqrt(const Var& x, Where where) { return apply(where, Sqrt{}, x); }
Var sin(const Var& x, Where where) { return apply(where, Sin{}, x); }
Var cos(const Var& x, Where where) { return apply(where, Cos{}, x); }
Var abs(const Var& x, Where where) { return apply(where, Abs{}, x); }
Var tanh(const Var& x, Where where) { return apply(where, Tanh{}, x); }
Var sigmoid(const Var& x, Where where) { return apply(where, Sigmoid{}, x); }
Var erf(const Var& x, Where where) { return apply(where, Erf{}, x); }
Var relu(const Var& x, Where where) { return apply(where, Relu{}, x); }
Var silu(const Var& x, Where where) { return apply(where, Silu{}, x); }
Var clamp(const Var& x, double low, double high, Where where) {
  return apply(where, Clamp(low, high), x);
}
Var gelu(const Var& x, GeluForm form, Where where) { return apply(where, Gelu(form), x); }

}  // namespace glim
