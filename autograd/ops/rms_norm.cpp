// RMS norm over the last axis: layer norm without the mean.      x, y (..., D)      γ (D,) or undefined
#include "autograd/kernels/rms_norm.hpp"

#include "autograd/ops.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace ops {

struct RmsNorm final : Fused {
  static constexpr Formula formula{"rms_norm",
                                   "y = γ x̂, x̂ = x/ρ, ρ = √(mean x² + ε)",
                                   {"dx = (g - x̂ mean(g x̂))/ρ, g = γ dy", "dγ = Σ_rows dy x̂"},
                                   "Zhang & Sennrich 2019, eq. 4"};
  enum Input { X, Gamma };
  enum Kept { InverseRoot };
  explicit RmsNorm(double e) : eps(e) {}

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
    auto [y, inverse_root] = kernels::rms_norm(x, gamma, eps);
    keep(inverse_root);
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    auto d = kernels::rms_norm_grad(saved(X).value(), saved(Gamma).value(), kept(InverseRoot),
                                    dy.value(), needs_grad(X), needs_grad(Gamma));
    return {{X, d.x}, {Gamma, d.gamma}};
  }

  double eps;
};

}  // namespace ops

Var rms_norm(const Operand& x, const Var& gamma, double eps) {
  require_floating(x->value(), "rms_norm");
  require_eps("rms_norm", eps, x->dtype());
  bool fits = !gamma.defined() ||
              (gamma.rank() == 1 && gamma.size(0) == x->size(-1) && gamma.dtype() == x->dtype());
  if (x->rank() < 1 || !fits)
    throw ShapeError("rms_norm", "gamma must be (D,) for x (..., D), of its dtype",
                     {{"x", x->value()}, {"gamma", gamma.value()}});
  return apply(ops::RmsNorm(eps), x, gamma);
}

}  // namespace glim
