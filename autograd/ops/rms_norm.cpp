//   x̂ = x/ρ, ρ = √(mean(x²) + ε)      y = γ x̂      over the last axis (Zhang & Sennrich 2019, eq. 4)
//
//   dx = (g - x̂ mean(g x̂))/ρ,  g = γ dy      dγ = Σ_rows dy x̂
//
// Layer norm without the mean. Backward reads x, γ and each row's 1/ρ.
#include "autograd/magnification.hpp"
#include "autograd/ops/fused.hpp"

namespace glim {
namespace {

Var composed(const Var& x, const Var& gamma, double eps, Where where) {
  Var root = named(sqrt(add(mean(mul(x, x, where), {-1}, true, where), eps, where)), "root");
  Var y = named(div(x, root, where), "normalized");
  return gamma.defined() ? mul(y, gamma, where) : y;
}

struct RmsNormOp final : FusedOp {
  enum Input { X, Gamma };
  explicit RmsNormOp(double eps = 0) : eps_(eps) {}
  std::string_view name() const override { return "rms_norm"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[X], in[Gamma], eps_, Where::current());
  }

  Tensor forward(const Tensor& x, const Tensor& gamma) {
    save(X);
    save(Gamma);
    inverse_root_ = empty({rows_of(x).count}, x.dtype());
    return normalized(x, gamma);
  }

  bool recomputes() const override { return keeps_inputs(); }
  Tensor recompute() const override { return normalized(saved(X).value(), saved(Gamma).value()); }

  Grads backward(const Var& dy) const override {
    if (recording()) return through_composition({saved(X), saved(Gamma)}, dy);
    Rows in = rows_of(saved(X).value()), up = rows_of(dy.value());
    Tensor gamma = saved(Gamma).defined() ? saved(Gamma).value().contiguous() : Tensor();
    Index piece = rows_per_piece(in.columns), pieces = (in.count + piece - 1) / piece;
    DType dtype = in.x.dtype();
    Tensor dx = needs_grad(X) ? empty(dy.shape(), dtype) : Tensor();
    Tensor dgamma =  // each piece's sum
        needs_grad(Gamma) ? zeros({std::max<Index>(1, pieces), in.columns}, dtype) : Tensor();
    visit_floating(in.x, "rms_norm", [&]<class T>() {
      parallel_each(pieces, [&](Index p) {
        Index begin = p * piece, end = std::min(in.count, begin + piece);
        row_kernels<T>().rms_norm_grad(
            end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld,
            gamma.defined() ? gamma.data<T>() : nullptr, inverse_root_.data<T>() + begin,
            up.x.data<T>() + begin * up.ld, up.ld,
            dx.defined() ? dx.data<T>() + begin * in.columns : nullptr,
            dgamma.defined() ? dgamma.data<T>() + p * in.columns : nullptr);
      });
    });
    Grads d;
    if (dx.defined()) d[X] = Var(dx);
    if (dgamma.defined()) d[Gamma] = Var(sum_of_pieces(dgamma));
    return d;
  }

 private:
  // y, and each row's 1/ρ into inverse_root_.
  Tensor normalized(const Tensor& x, const Tensor& gamma) const {
    Rows in = rows_of(x);
    Tensor scale = gamma.defined() ? gamma.contiguous() : gamma;
    Tensor y = empty(x.shape(), x.dtype());
    visit_floating(x, "rms_norm", [&]<class T>() {
      parallel_for(in.count, rows_per_piece(in.columns), [&](Index begin, Index end) {
        row_kernels<T>().rms_norm(end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld,
                                  scale.defined() ? scale.data<T>() : nullptr, static_cast<T>(eps_),
                                  y.data<T>() + begin * in.columns,
                                  inverse_root_.data<T>() + begin);
      });
    });
    return y;
  }

  double eps_;
  Tensor inverse_root_;  // (rows)
};

}  // namespace

Var rms_norm(const Var& x, const Var& gamma, double eps, Where where) {
  require_floating(x.value(), "rms_norm");
  bool fits = !gamma.defined() ||
              (gamma.rank() == 1 && gamma.size(0) == x.size(-1) && gamma.dtype() == x.dtype());
  if (x.rank() < 1 || !fits)
    throw with_operands(ShapeError("rms_norm", "gamma must be (D,) for x (..., D), of its dtype"),
                        Operand("x", x.value()), Operand("gamma", gamma.value()));
  if (magnification() == Magnification::Explicit) return composed(x, gamma, eps, where);
  return apply(where, RmsNormOp(eps), x, gamma);
}

}  // namespace glim
