// RMS norm over the last axis: layer norm without the mean.      x, y (..., D)      γ (D,) or undefined
#include "autograd/ops/norm.hpp"

namespace glim {
namespace ops {

struct RmsNorm final : Norm {
  static constexpr Formula formula{
      "rms_norm",
      "y = γ ⊙ x̂, x̂ = x/ρ, ρ = √(mean x² + ε)",
      {"dx = (g - x̂ ⊙ mean(g ⊙ x̂))/ρ, g = γ ⊙ dy", "dγ = Σ_rows(dy ⊙ x̂)"},
      "Zhang & Sennrich 2019, eq. 4"};
  using Norm::Norm;

  Var explicit_form(const Var& x, const Var& gamma) const {
    Var y = named(x / named(rho_of(x), "root"), "normalized");
    return gamma.defined() ? y * gamma : y;
  }

  Grads gradient(const Var& dy) const override {
    const Var &x = saved(X), &gamma = saved(Gamma);
    Var rho = rho_of(x), x_hat = x / rho;
    Var g = gamma.defined() ? dy * gamma : dy;
    return {{X, (g - x_hat * mean(g * x_hat, {-1}, true)) / rho},
            {Gamma, sum_to(dy * x_hat, {x.size(-1)})}};
  }

  Var rho_of(const Var& x) const { return sqrt(mean(x * x, {-1}, true) + eps); }

  // ---- the kernel ----
  Tensor forward(const Tensor& x, const Tensor& gamma) {
    save(X, Gamma);
    return normalized(x, gamma, {}, false);
  }
};

}  // namespace ops

Var rms_norm(const Operand& x, const Shape& shape, const Var& gamma, double eps) {
  return ops::over_last_axes(
      "rms_norm", x, shape, gamma, {},
      [eps](const Var& rows, const Var& g, const Var&) { return rms_norm(rows, g, eps); });
}

Var rms_norm(const Operand& x, const Var& gamma, double eps) {
  require_floating(x->value(), "rms_norm");
  require_eps("rms_norm", eps, x->dtype());
  if (x->rank() < 1 || !ops::fits_columns(gamma, x))
    throw ShapeError("rms_norm", "gamma must be (D,) for x (..., D), of its dtype",
                     {{"x", x->value()}, {"gamma", gamma.value()}});
  return apply(ops::RmsNorm(eps), x, gamma);
}

}  // namespace glim
