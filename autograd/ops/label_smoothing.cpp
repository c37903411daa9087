// Label smoothing (Szegedy et al. 2016, section 7; the 2017 paper's section 5.4), on logits and on what an
// output projection makes of x.      logits (N, V)   target (N,)      x (N, I)   W (V, I)   b (V,)
//
//   q = 1-ε for the target, 0 for pad, ε/(V-2) elsewhere (ε/(V-1) where pad is no class)
//
// A row whose target is pad counts 0 and has gradient 0. 0 ln 0 = 0.
#include "autograd/kernels/rows.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/portable.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace ops {

double x_log_x(double v) { return v > 0 ? v * portable::log(v) : 0.0; }

struct SmoothedLoss : Fused {
  SmoothedLoss(const Tensor& t, double e, Index p) : target(t.contiguous()), epsilon(e), pad(p) {}

  bool pad_is_class(Index classes) const { return pad >= 0 && pad < classes; }
  // Classes that share ε: all but the target and, where it is one of them, padding.
  double others(Index classes) const {
    return static_cast<double>(classes - (pad_is_class(classes) ? 2 : 1));
  }
  double rest_of(Index classes) const { return epsilon > 0 ? epsilon / others(classes) : 0; }
  // -Σ q ln q of all rows.
  double entropy_of(Index tokens, Index classes) const {
    return -static_cast<double>(tokens) *
           (x_log_x(1 - epsilon) + (epsilon > 0 ? others(classes) * x_log_x(rest_of(classes)) : 0));
  }
  // q (N, V), a row of zeros for pad.
  Tensor smoothed_target(Index classes, DType dtype) const {
    const double rest = rest_of(classes);
    Tensor q = (1 - epsilon - rest) * one_hot(target, classes, dtype) + rest;
    if (pad_is_class(classes)) select(q, 1, pad).fill_(0);
    return q * unsqueeze(not_equal(target, static_cast<double>(pad)), 1).to(dtype);
  }

  // Σ KL(q ‖ p) = -Σ q ln p - (entropy of q), p = softmax(logits)
  Var kl(const Var& logits) const {
    const Index classes = logits.size(1);
    Var log_probs = named(log_softmax(logits), "log_probs");
    const Var q = named(smoothed_target(classes, logits.dtype()), "q");
    Tensor zero = scalar(0, q.dtype());
    Var cross = -sum(where(greater(q.value(), 0), log_probs * q, zero));  // 0 ln 0 is 0
    Tensor real = not_equal(target, static_cast<double>(pad));
    auto tokens = static_cast<Index>(sum(real).item());
    const double entropy = entropy_of(tokens, classes);
    Tensor picked = squeeze(gather(log_probs.value(), 1, unsqueeze(target, 1)), 1);
    *sums = {cross.item() - entropy, cross.item(),
             -sum(where(real, picked, zero).to(DType::Float64)).item(), tokens};
    return cross - named(scalar(entropy, q.dtype()), "entropy");
  }
  // ∂(dy KL)/∂logits = dy (Σq p - q)
  Var logits_gradient(const Var& logits, const Var& dy) const {
    Tensor q = smoothed_target(logits.size(1), logits.dtype());
    return dy * (softmax(logits) * sum(q, {-1}, true) - q);
  }

  // ---- the kernel ----
  // A row of logits is read twice while it is in the cache; neither p nor q exists as a tensor. Each row's maximum
  // and Σ q/Σ e^{x - max} are its statistics. Rows add up in float64, in order.
  SmoothedTarget weights(Index classes) const {
    const double r = rest_of(classes), hit = 1 - epsilon;
    return {hit, r, hit + r * others(classes), pad};
  }
  // Adds up the rows of logits, which belong to the targets from `begin` on. Returns their statistics (rows, 2).
  // With dx, which may be the logits, also writes their gradient for dy = 1.
  Tensor add_up(const Tensor& logits, Index begin, const Tensor& dx) const {
    LastAxis in = rows_of(logits);
    Tensor stats = empty({logits.size(0), 2}, logits.dtype());
    Tensor cross = empty({logits.size(0)}, DType::Float64),
           nll = empty({logits.size(0)}, DType::Float64);
    const Index* t = target.data<Index>() + begin;
    const SmoothedTarget q = weights(in.columns);
    each_rows(in, [&]<class T>(Index first, Index end) {
      dispatch<simd::cross_entropy<T>>(q, end - first, in.columns, in.at<T>(first), in.ld,
                                       t + first, stats.data<T>() + 2 * first,
                                       cross.data<double>() + first, nll.data<double>() + first,
                                       data_or_null<T>(dx, first * in.columns));
    });
    for (Index r = 0; r < logits.size(0); ++r) {
      sums->tokens += t[r] != pad;
      sums->smoothed_ce += cross.data<double>()[r];
      sums->nll += nll.data<double>()[r];
    }
    return stats;
  }
  // The loss of the rows that were added up.
  Tensor total(Index classes, DType dtype) const {
    sums->kl = sums->smoothed_ce - entropy_of(sums->tokens, classes);
    return scalar(sums->kl, dtype);
  }
  void begin_sums(std::string_view op, Index classes) const {
    *sums = {};
    require_indices(op, target, classes, "target");
  }

  Tensor target;
  double epsilon;
  Index pad;
  std::shared_ptr<Measures> sums = std::make_shared<Measures>();  // the last forward's
};

struct LabelSmoothingLoss final : SmoothedLoss {
  static constexpr Formula formula{"label_smoothing_loss",
                                   "y = Σ_rows Σ_v q_v (ln q_v - ln p_v), p = softmax(x)",
                                   {"dx = dy (Σ(q) ⊙ p - q)"},
                                   "Szegedy et al. 2016, section 7"};
  enum Input { Logits };
  enum Kept { Statistics };
  using SmoothedLoss::SmoothedLoss;

  Var explicit_form(const Var& logits) const { return kl(logits); }
  Grads gradient(const Var& dy) const override {
    return {{Logits, logits_gradient(saved(Logits), dy)}};
  }

  // ---- the kernel ----
  Tensor forward(const Tensor& logits) {
    save(Logits);
    begin_sums(formula.op, logits.size(1));
    keep(add_up(logits, 0, {}));
    return total(logits.size(1), logits.dtype());
  }
  Grads fast_gradient(const Var& dy) const override {
    LastAxis in = rows_of(saved(Logits).value());
    Tensor dx = empty(saved(Logits).shape(), dy.dtype());
    const SmoothedTarget q = weights(in.columns);
    each_rows(in, [&]<class T>(Index first, Index end) {
      dispatch<simd::cross_entropy_grad<T>>(
          q, end - first, in.columns, in.at<T>(first), in.ld, target.data<Index>() + first,
          kept(Statistics).data<T>() + 2 * first, static_cast<T>(dy.item()),
          dx.data<T>() + first * in.columns, in.columns);
    });
    return {{Logits, dx}};
  }
};

struct LinearLabelSmoothingLoss final : SmoothedLoss {
  static constexpr Formula formula{
      "linear_label_smoothing_loss",
      "y = Σ_rows KL(q ‖ softmax(u)), u = x Wᵀ + b",
      {"dx = du W, du = dy (Σ(q) ⊙ softmax(u) - q)", "dW = duᵀ x", "db = Σ_rows du"},
      "Szegedy et al. 2016, section 7"};
  enum Input { X, Weight, Bias };
  using SmoothedLoss::SmoothedLoss;

  Var explicit_form(const Var& x, const Var& weight, const Var& bias) const {
    return kl(linear(x, weight, bias));
  }
  Grads gradient(const Var& dy) const override {
    const Var &x = saved(X), &weight = saved(Weight);
    Var du = logits_gradient(linear(x, weight, saved(Bias)), dy);
    return {{X, matmul(du, weight)}, {Weight, matmul(transpose(du), x)}, {Bias, sum(du, {0})}};
  }

  // ---- the kernel ----
  // Logits u are large (N V numbers), so they exist in chunks of rows: 2²² numbers, 16 MiB in float32. Forward knows
  // all that backward needs but the number dy, so it keeps the gradients for dy = 1, with du in place of u. Computing
  // u again in backward would take a third product of that size. Chunks depend on V alone and are added up in order.
  Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    save(X, Weight, Bias);
    const Index count = x.size(0), classes = weight.size(0);
    const Index chunk = std::max<Index>(64, (Index{1} << 22) / std::max<Index>(1, classes));
    begin_sums(formula.op, classes);
    auto like = [&](Input i, const Tensor& t) {
      return t.defined() && needs_grad(i) ? empty(t.shape(), t.dtype()) : Tensor();
    };
    Tensor dx = like(X, x), dweight = like(Weight, weight), dbias = like(Bias, bias);
    if (dweight.defined() && count == 0) dweight.fill_(0);  // no chunk writes it
    if (dbias.defined()) dbias.fill_(0);
    for (Index begin = 0; begin < count; begin += chunk) {
      Tensor part = narrow(x, 0, begin, std::min(chunk, count - begin));
      Tensor u = matmul_then(part, transpose(weight), {bias, false, nullptr});  // (rows, V)
      const bool grad = dx.defined() || dweight.defined() || dbias.defined();
      add_up(u, begin, grad ? u : Tensor());
      if (dx.defined()) matmul_into(narrow(dx, 0, begin, u.size(0)), u, weight, 1, 0);
      if (dweight.defined()) matmul_into(dweight, transpose(u), part, 1, begin > 0 ? 1 : 0);
      if (dbias.defined()) add_(dbias, sum_of_rows(u));
    }
    keep(dx, dweight, dbias);
    return total(classes, x.dtype());
  }
  Grads fast_gradient(const Var& dy) const override {
    auto times_dy = [&](Input i) { return kept(i).defined() ? mul(kept(i), dy.item()) : Tensor(); };
    return {{X, times_dy(X)}, {Weight, times_dy(Weight)}, {Bias, times_dy(Bias)}};
  }
};

// ε needs a class beside the target's, and beside pad's where that is one.
void require_smoothing(std::string_view op, double epsilon, Index classes, Index pad) {
  Index least = pad >= 0 && pad < classes ? 3 : 2;
  if (!(epsilon >= 0 && epsilon < 1) || (epsilon > 0 && classes < least))
    throw ValueError(op, "smoothing must be in [0, 1), and V be at least " + std::to_string(least) +
                             ", got " + number_text(epsilon) + " and " + std::to_string(classes));
}

template <class OpT, class... Inputs>
MeasuredLoss measured(OpT op, const Operand& first, const Inputs&... rest) {
  std::shared_ptr<Measures> sums = op.sums;
  Var loss = apply(std::move(op), first, rest...);
  return {loss, *sums};
}

}  // namespace ops

MeasuredLoss label_smoothing_loss(const Operand& logits, const Tensor& target, double smoothing,
                                  Index pad) {
  if (logits->rank() != 2 || target.rank() != 1 || target.dtype() != DType::Int64 ||
      target.size(0) != logits->size(0))
    throw ShapeError("label_smoothing_loss", "needs logits (N, V) and int64 targets (N,)",
                     {{"logits", logits->value()}, {"target", target}});
  require_floating(logits->value(), "label_smoothing_loss");
  ops::require_smoothing("label_smoothing_loss", smoothing, logits->size(1), pad);
  return ops::measured(ops::LabelSmoothingLoss(target, smoothing, pad), logits);
}

MeasuredLoss linear_label_smoothing_loss(const Operand& x, const Var& weight, const Var& bias,
                                         const Tensor& target, double smoothing, Index pad) {
  auto bad_bias = [&] {
    return bias.defined() && (bias.shape() != Shape{weight.size(0)} || bias.dtype() != x->dtype());
  };
  if (x->rank() != 2 || weight.rank() != 2 || x->size(1) != weight.size(1) ||
      x->dtype() != weight.dtype() || bad_bias() || target.rank() != 1 ||
      target.dtype() != DType::Int64 || target.size(0) != x->size(0))
    throw ShapeError("linear_label_smoothing_loss",
                     "needs x (N, I), weight (V, I), bias (V,) of one dtype, int64 targets (N,)",
                     {{"x", x->value()},
                      {"weight", weight.value()},
                      {"bias", bias.value()},
                      {"target", target}});
  require_floating(x->value(), "linear_label_smoothing_loss");
  ops::require_smoothing("linear_label_smoothing_loss", smoothing, weight.size(0), pad);
  return ops::measured(ops::LinearLabelSmoothingLoss(target, smoothing, pad), x, weight, bias);
}

}  // namespace glim
