// Layer norm over the last axis.      x, y (..., D)      γ, β (D,) or undefined
//
// Why dx has two means: x̂ stays the same when a number is added to the row, and, but for ε, when the row is scaled. So dx
// has no component along 1, which `mean g` takes out of g, and next to none along x̂. The paper has no ε.
#include <cmath>

#include "autograd/ops/norm.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace ops {

Var row_mean(const Var& x) { return mean(x, {-1}, true); }

struct LayerNorm final : Norm {
  static constexpr Formula formula{"layer_norm",
                                   "y = γ ⊙ x̂ + β, x̂ = (x - μ)/σ, σ = √(mean (x - μ)² + ε)",
                                   {"dx = (g - mean g - x̂ ⊙ mean(g ⊙ x̂))/σ, g = γ ⊙ dy",
                                    "dγ = Σ_rows(dy ⊙ x̂)", "dβ = Σ_rows dy"},
                                   "Ba et al. 2016, eq. 4"};
  using Norm::Norm;
  Var sigma_of(const Var& centered) const { return sqrt(row_mean(centered * centered) + eps); }

  Var explicit_form(const Var& x, const Var& gamma, const Var& beta) const {
    Var centered = named(x - row_mean(x), "centered");
    Var y = named(centered / sigma_of(centered), "normalized");
    if (gamma.defined()) y = y * gamma;
    return beta.defined() ? y + beta : y;
  }

  Grads gradient(const Var& dy) const override {
    const Var &x = saved(X), &gamma = saved(Gamma);
    Var centered = x - row_mean(x), sigma = sigma_of(centered), x_hat = centered / sigma;
    Var g = gamma.defined() ? dy * gamma : dy;
    Var along = x_hat * row_mean(g * x_hat);
    return {{X, (g - row_mean(g) - along) / sigma},
            {Gamma, sum_to(dy * x_hat, {x.size(-1)})},
            {Beta, sum_to(dy, {x.size(-1)})}};
  }

  // ---- the kernel: this forward, and Norm::fast_gradient. Their rows are in autograd/kernels/simd/norms.hpp ----
  Tensor forward(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
    save(X, Gamma, Beta);
    return normalized(x, gamma, beta, true);
  }
};

}  // namespace ops

void require_eps(std::string_view op, double eps, DType dtype) {
  if (!(eps >= 0 && std::isfinite(eps)))
    throw ValueError(op, "eps must be finite and not negative, got " + number_text(eps));
  const double rounded = dtype == DType::Float32 ? static_cast<float>(eps) : eps;
  if (std::isinf(rounded) || (rounded == 0 && eps != 0))
    throw ValueError(op, "eps " + number_text(eps) + " is " + number_text(rounded) + " in float32");
}

Var layer_norm(const Operand& x, const Shape& shape, const Var& gamma, const Var& beta,
               double eps) {
  return ops::over_last_axes(
      "layer_norm", x, shape, gamma, beta,
      [eps](const Var& rows, const Var& g, const Var& b) { return layer_norm(rows, g, b, eps); });
}

Var layer_norm(const Operand& x, const Var& gamma, const Var& beta, double eps) {
  require_floating(x->value(), "layer_norm");
  require_eps("layer_norm", eps, x->dtype());
  if (x->rank() < 1 || !ops::fits_columns(gamma, x) || !ops::fits_columns(beta, x))
    throw ShapeError("layer_norm", "gamma and beta must be (D,) for x (..., D), of its dtype",
                     {{"x", x->value()}, {"gamma", gamma.value()}, {"beta", beta.value()}});
  return apply(ops::LayerNorm(eps), x, gamma, beta);
}

}  // namespace glim
