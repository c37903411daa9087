//   x̂ = (x - μ)/σ, σ = √(var + ε)      y = γ x̂ + β      over the last axis (Ba et al. 2016, eq. 4)
//
//   dx = (g - mean(g) - x̂ mean(g x̂))/σ,  g = γ dy
//   dγ = Σ_rows dy x̂                      dβ = Σ_rows dy
//
// Backward reads x, γ and each row's μ and 1/σ; x̂ is computed again, and so is y for the ops that read
// it. Sums over rows are taken in
// pieces of rows that depend on D alone, and added in order.
#include "autograd/magnification.hpp"
#include "autograd/ops/fused.hpp"

namespace glim {
namespace {

Var composed(const Var& x, const Var& gamma, const Var& beta, double eps, Where where) {
  Var centered = named(sub(x, mean(x, {-1}, true, where), where), "centered");
  Var deviation = sqrt(add(mean(mul(centered, centered, where), {-1}, true, where), eps, where));
  Var y = named(div(centered, deviation, where), "normalized");
  if (gamma.defined()) y = mul(y, gamma, where);
  if (beta.defined()) y = add(y, beta, where);
  return y;
}

struct LayerNormOp final : FusedOp {
  enum Input { X, Gamma, Beta };
  explicit LayerNormOp(double eps = 0) : eps_(eps) {}
  std::string_view name() const override { return "layer_norm"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[X], in[Gamma], in[Beta], eps_, Where::current());
  }

  Tensor forward(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
    save(X);
    save(Gamma);
    save(Beta);
    mean_ = empty({rows_of(x).count}, x.dtype());
    inverse_sigma_ = empty({rows_of(x).count}, x.dtype());
    return normalized(x, gamma, beta);
  }

  bool recomputes() const override { return keeps_inputs(); }
  Tensor recompute() const override {
    return normalized(saved(X).value(), saved(Gamma).value(), saved(Beta).value());
  }

  Grads backward(const Var& dy) const override {
    if (recording()) return through_composition({saved(X), saved(Gamma), saved(Beta)}, dy);
    Rows in = rows_of(saved(X).value()), up = rows_of(dy.value());
    Tensor gamma = saved(Gamma).defined() ? saved(Gamma).value().contiguous() : Tensor();
    Index piece = rows_per_piece(in.columns), pieces = (in.count + piece - 1) / piece;
    DType dtype = in.x.dtype();
    Tensor dx = needs_grad(X) ? empty(dy.shape(), dtype) : Tensor();
    // Each piece's sums.
    Tensor dgamma =
        needs_grad(Gamma) ? zeros({std::max<Index>(1, pieces), in.columns}, dtype) : Tensor();
    Tensor dbeta =
        needs_grad(Beta) ? zeros({std::max<Index>(1, pieces), in.columns}, dtype) : Tensor();
    visit_floating(in.x, "layer_norm", [&]<class T>() {
      auto row = [&](const Tensor& sums, Index i) {
        return sums.defined() ? sums.data<T>() + i * in.columns : nullptr;
      };
      parallel_each(pieces, [&](Index p) {
        Index begin = p * piece, end = std::min(in.count, begin + piece);
        row_kernels<T>().layer_norm_grad(end - begin, in.columns, in.x.data<T>() + begin * in.ld,
                                         in.ld, gamma.defined() ? gamma.data<T>() : nullptr,
                                         mean_.data<T>() + begin, inverse_sigma_.data<T>() + begin,
                                         up.x.data<T>() + begin * up.ld, up.ld,
                                         dx.defined() ? dx.data<T>() + begin * in.columns : nullptr,
                                         row(dgamma, p), row(dbeta, p));
      });
    });
    Grads d;
    if (dx.defined()) d[X] = Var(dx);
    if (dgamma.defined()) d[Gamma] = Var(sum_of_pieces(dgamma));
    if (dbeta.defined()) d[Beta] = Var(sum_of_pieces(dbeta));
    return d;
  }

 private:
  // y, and each row's μ and 1/σ into mean_ and inverse_sigma_.
  Tensor normalized(const Tensor& x, const Tensor& gamma, const Tensor& beta) const {
    Rows in = rows_of(x);
    Tensor scale = gamma.defined() ? gamma.contiguous() : gamma;
    Tensor shift = beta.defined() ? beta.contiguous() : beta;
    Tensor y = empty(x.shape(), x.dtype());
    visit_floating(x, "layer_norm", [&]<class T>() {
      parallel_for(in.count, rows_per_piece(in.columns), [&](Index begin, Index end) {
        row_kernels<T>().layer_norm(end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld,
                                    scale.defined() ? scale.data<T>() : nullptr,
                                    shift.defined() ? shift.data<T>() : nullptr,
                                    static_cast<T>(eps_), y.data<T>() + begin * in.columns,
                                    mean_.data<T>() + begin, inverse_sigma_.data<T>() + begin);
      });
    });
    return y;
  }

  double eps_;
  Tensor mean_, inverse_sigma_;  // (rows)
};

}  // namespace

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double eps, Where where) {
  require_floating(x.value(), "layer_norm");
  auto fits = [&](const Var& v) {
    return !v.defined() || (v.rank() == 1 && v.size(0) == x.size(-1) && v.dtype() == x.dtype());
  };
  if (x.rank() < 1 || !fits(gamma) || !fits(beta))
    throw with_operands(
        ShapeError("layer_norm", "gamma and beta must be (D,) for x (..., D), of its dtype"),
        Operand("x", x.value()), Operand("gamma", gamma.value()), Operand("beta", beta.value()));
  if (magnification() == Magnification::Explicit) return composed(x, gamma, beta, eps, where);
  return apply(where, LayerNormOp(eps), x, gamma, beta);
}

}  // namespace glim
