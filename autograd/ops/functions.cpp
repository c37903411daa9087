// Element-wise functions of one tensor; x, y, dx, dy have one shape.
#include <cmath>
#include <numbers>

#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"

namespace glim {
namespace ops {

// dx from dy and what the slope of f reads (tensor/simd/element_functions.hpp), x or y.
Tensor function_grad(ElementFunction f, const Var& saved, const Tensor& dy) {
  Tensor in = saved.value().contiguous(), dy_flat = dy.contiguous();
  Tensor dx = empty(dy.shape(), dy.dtype());
  each_elements(dx, [&]<class T>(Index begin, Index end) {
    dispatch<simd::function_grad<T>>(f, end - begin, in.data<T>() + begin,
                                     dy_flat.data<T>() + begin, dx.data<T>() + begin);
  });
  return dx;
}

template <class Self>
struct OfElements : Unary<Self> {
  void save_x() { this->save(this->X); }
  void save_y() { this->save_output(); }
};

// The op of a record. `read` is x or y: the value that forward saves, under the name that it has in the rule.
#define GLIM_OP(name, equation, gradient, read, rule, low, high, slope, ...) \
  struct name##_op final : OfElements<name##_op> {                           \
    static constexpr Formula formula{#name, equation, {gradient}};           \
    Tensor forward(const Tensor& input) {                                    \
      save_##read();                                                         \
      return glim::name(input);                                              \
    }                                                                        \
    Var dx(const Var& dy) const {                                            \
      const Var& read = this->read();                                        \
      return rule;                                                           \
    }                                                                        \
    __VA_OPT__(Tensor kernel(const Tensor& dy) const {                       \
      const Var& read = this->read();                                        \
      return __VA_ARGS__;                                                    \
    })                                                                       \
  };
GLIM_FUNCTIONS(GLIM_OP)
#undef GLIM_OP

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

struct Silu final : Unary<Silu> {
  static constexpr Formula formula{
      "silu", "y = x ⊙ s, s = sigmoid(x)", {"dx = dy ⊙ s ⊙ (1 + x ⊙ (1 - s))"}};
  Tensor forward(const Tensor& x) {
    save(X);
    return silu(x);
  }
  Var dx(const Var& dy) const {
    Var s = sigmoid(x());
    Var slope = 1 + x() * (1 - s);
    return dy * s * slope;
  }
  Tensor kernel(const Tensor& dy) const { return function_grad(ElementFunction::silu, x(), dy); }
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
    Var dt = 1 - t * t, through_t = 0.5 * x * dt * du;
    return dy * (0.5 * (1 + t) + through_t);
  }
  Tensor kernel(const Tensor& dy) const {
    return function_grad(
        form == GeluForm::Erf ? ElementFunction::gelu_erf : ElementFunction::gelu_tanh, x(), dy);
  }
  Arguments arguments() const override { return {{"tanh", form == GeluForm::Tanh}}; }
  GeluForm form;
};

}  // namespace ops

#define GLIM_APPLY(name, ...) \
  Var name(const Operand& x) { return apply(ops::name##_op{}, x); }
GLIM_FUNCTIONS(GLIM_APPLY)
#undef GLIM_APPLY
Var silu(const Operand& x) { return apply(ops::Silu{}, x); }
Var clamp(const Operand& x, double low, double high) { return apply(ops::Clamp(low, high), x); }
Var gelu(const Operand& x, GeluForm form) { return apply(ops::Gelu(form), x); }

Var softplus(const Operand& x, double beta) {
  CallSite site(x.where());
  return beta == 1 ? softplus(x) : softplus(beta * x) / beta;
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
