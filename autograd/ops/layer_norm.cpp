// Layer norm over the last axis.      x, y (..., D)      γ, β (D,) or undefined
#include <cmath>

#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace ops {

Var row_mean(const Var& x) { return mean(x, {-1}, true); }

struct LayerNorm final : Fused {
  static constexpr Formula formula{
      "layer_norm",
      "y = γ x̂ + β, x̂ = (x - μ)/σ, σ = √(mean (x - μ)² + ε)",
      {"dx = (g - mean g - x̂ mean(g x̂))/σ, g = γ dy", "dγ = Σ_rows dy x̂", "dβ = Σ_rows dy"},
      "Ba et al. 2016, eq. 4"};
  enum Input { X, Gamma, Beta };
  enum Kept { Mean, InverseSigma };
  explicit LayerNorm(double e) : eps(e) {}

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
    return {{X, (g - row_mean(g) - x_hat * row_mean(g * x_hat)) / sigma},
            {Gamma, sum_to(dy * x_hat, {x.size(-1)})},
            {Beta, sum_to(dy, {x.size(-1)})}};
  }

  Var sigma_of(const Var& centered) const { return sqrt(row_mean(centered * centered) + eps); }

  // ---- the kernel ----
  // The rule has a tensor for each of its terms. The kernel reads a row once forward and once backward. x̂ never
  // exists: each row's μ and 1/σ are kept, and x̂ is computed again.
  Tensor forward(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
    save(X, Gamma, Beta);
    Rows in = rows_of(x);
    Tensor scale = contiguous_or_none(gamma), shift = contiguous_or_none(beta);
    Tensor y = empty(x.shape(), x.dtype());
    Tensor mean = empty({in.count}, x.dtype()), inverse_sigma = empty({in.count}, x.dtype());
    each_rows(in, [&]<class T>(Index begin, Index end) {
      dispatch<simd::layer_norm<T>>(end - begin, in.columns, in.at<T>(begin), in.ld,
                                    data_or_null<T>(scale), data_or_null<T>(shift),
                                    static_cast<T>(eps), y.data<T>() + begin * in.columns,
                                    mean.data<T>() + begin, inverse_sigma.data<T>() + begin);
    });
    keep(mean, inverse_sigma);
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    Rows in = rows_of(saved(X).value()), dy_rows = rows_of(dy.value());
    Tensor scale = contiguous_or_none(saved(Gamma).value());
    const Tensor &mean = kept(Mean), &inverse_sigma = kept(InverseSigma);
    Tensor dx = needs_grad(X) ? empty(dy.shape(), dy.dtype()) : Tensor();
    RowSums dgamma(in, needs_grad(Gamma)), dbeta(in, needs_grad(Beta));
    each_rows(in, [&]<class T>(Index begin, Index end) {
      dispatch<simd::layer_norm_grad<T>>(
          end - begin, in.columns, in.at<T>(begin), in.ld, data_or_null<T>(scale),
          mean.data<T>() + begin, inverse_sigma.data<T>() + begin, dy_rows.at<T>(begin), dy_rows.ld,
          data_or_null<T>(dx, begin * in.columns), dgamma.at<T>(begin), dbeta.at<T>(begin));
    });
    return {{X, dx}, {Gamma, dgamma.total()}, {Beta, dbeta.total()}};
  }

  double eps;
};

}  // namespace ops

void require_eps(std::string_view op, double eps, DType dtype) {
  if (!(eps >= 0 && std::isfinite(eps)))
    throw ValueError(op, "eps must be finite and not negative, got " + number_text(eps));
  const double rounded = dtype == DType::Float32 ? static_cast<float>(eps) : eps;
  if (std::isinf(rounded) || (rounded == 0 && eps != 0))
    throw ValueError(op, "eps " + number_text(eps) + " is " + number_text(rounded) + " in float32");
}

Var layer_norm(const Operand& x, const Var& gamma, const Var& beta, double eps) {
  require_floating(x->value(), "layer_norm");
  require_eps("layer_norm", eps, x->dtype());
  auto fits = [&](const Var& v) {
    return !v.defined() || (v.rank() == 1 && v.size(0) == x->size(-1) && v.dtype() == x->dtype());
  };
  if (x->rank() < 1 || !fits(gamma) || !fits(beta))
    throw ShapeError("layer_norm", "gamma and beta must be (D,) for x (..., D), of its dtype",
                     {{"x", x->value()}, {"gamma", gamma.value()}, {"beta", beta.value()}});
  return apply(ops::LayerNorm(eps), x, gamma, beta);
}

}  // namespace glim
