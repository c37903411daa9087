// RMS norm over the last axis: layer norm without the mean.      x, y (..., D)      γ (D,) or undefined
#include "autograd/kernels/rows.hpp"
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
  // As in layer norm's, x̂ never exists: each row's 1/ρ is kept.
  Tensor forward(const Tensor& x, const Tensor& gamma) {
    save(X, Gamma);
    Rows in = rows_of(x);
    Tensor scale = contiguous_or_none(gamma), y = empty(x.shape(), x.dtype());
    Tensor inverse_root = empty({in.count}, x.dtype());
    each_rows(in, [&]<class T>(Index begin, Index end) {
      dispatch<simd::rms_norm<T>>(end - begin, in.columns, in.at<T>(begin), in.ld,
                                  data_or_null<T>(scale), static_cast<T>(eps),
                                  y.data<T>() + begin * in.columns, inverse_root.data<T>() + begin);
    });
    keep(inverse_root);
    return y;
  }
  Grads fast_gradient(const Var& dy) const override {
    Rows in = rows_of(saved(X).value()), dy_rows = rows_of(dy.value());
    Tensor scale = contiguous_or_none(saved(Gamma).value());
    Tensor dx = needs_grad(X) ? empty(dy.shape(), dy.dtype()) : Tensor();
    RowSums dgamma(in, needs_grad(Gamma));
    each_rows(in, [&]<class T>(Index begin, Index end) {
      dispatch<simd::rms_norm_grad<T>>(
          end - begin, in.columns, in.at<T>(begin), in.ld, data_or_null<T>(scale),
          kept(InverseRoot).data<T>() + begin, dy_rows.at<T>(begin), dy_rows.ld,
          data_or_null<T>(dx, begin * in.columns), dgamma.at<T>(begin));
    });
    return {{X, dx}, {Gamma, dgamma.total()}};
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
