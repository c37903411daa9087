// Label smoothing (Szegedy et al. 2016, section 7; the 2017 paper's section 5.4), on logits and on what an
// output projection makes of x.      logits (N, V)   target (N,)      x (N, I)   W (V, I)   b (V,)
//
// smoothing.hpp says what q is. A row whose target is pad counts 0 and has gradient 0. 0 ln 0 = 0.
#include "autograd/kernels/label_smoothing.hpp"

#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace ops {

// q (N, V), a row of zeros for pad.
Tensor smoothed_target(const Tensor& target, Index classes, const Smoothing& s, DType dtype) {
  const double rest = s.rest(classes);
  Tensor q = (1 - s.epsilon - rest) * one_hot(target, classes, dtype) + rest;
  if (s.pad >= 0 && s.pad < classes) select(q, 1, s.pad).fill_(0);
  return q * unsqueeze(not_equal(target, static_cast<double>(s.pad)), 1).to(dtype);
}

// Σ KL(q ‖ p) = -Σ q ln p - (entropy of q), p = softmax(logits)
Var kl_of_logits(const Var& logits, const Tensor& target, const Smoothing& s, LossSums& sums) {
  const Index classes = logits.size(1);
  Var log_probs = named(log_softmax(logits), "log_probs");
  Tensor q = smoothed_target(target, classes, s, logits.dtype()), zero = scalar(0, q.dtype());
  Var cross = -sum(where(greater(q, 0), log_probs * q, zero));  // 0 ln p is 0, also for p = 0
  Tensor real = not_equal(target, static_cast<double>(s.pad));
  auto tokens = static_cast<Index>(sum(real).item());
  const double entropy = s.entropy(tokens, classes);
  Tensor picked = squeeze(gather(log_probs.value(), 1, unsqueeze(target, 1)), 1);
  sums = {cross.item() - entropy, cross.item(),
          -sum(where(real, picked, zero).to(DType::Float64)).item(), tokens};
  return cross - entropy;
}

// ∂(dy KL)/∂logits = dy (Σq p - q)
Var logits_gradient(const Var& logits, const Tensor& target, const Smoothing& s, const Var& dy) {
  Tensor q = smoothed_target(target, logits.size(1), s, logits.dtype());
  return dy * (softmax(logits) * sum(q, {-1}, true) - q);
}

struct LabelSmoothingLoss final : Fused {
  static constexpr Formula formula{"label_smoothing_loss",
                                   "y = Σ_rows Σ_v q_v (ln q_v - ln p_v), p = softmax(x)",
                                   {"dx = dy (Σq p - q)"},
                                   "Szegedy et al. 2016, section 7"};
  enum Input { Logits };
  enum Kept { Statistics };
  LabelSmoothingLoss(const Tensor& t, Smoothing s) : target(t.contiguous()), smoothing(s) {}

  Var explicit_form(const Var& logits) const {
    return kl_of_logits(logits, target, smoothing, *sums);
  }
  Grads gradient(const Var& dy) const override {
    return {{Logits, logits_gradient(saved(Logits), target, smoothing, dy)}};
  }

  // ---- the kernel ----
  Tensor forward(const Tensor& logits) {
    save(Logits);
    require_classes(formula.op, target, logits.size(1));
    kernels::CrossEntropyRows rows(logits.size(0));
    Tensor stats = empty({logits.size(0), 2}, logits.dtype());
    keep(stats);
    kernels::cross_entropy(logits, target, 0, smoothing, stats, rows);
    *sums = rows.sum(target, smoothing, logits.size(1));
    return scalar(sums->kl, logits.dtype());
  }
  Grads fast_gradient(const Var& dy) const override {
    Tensor dx = empty(saved(Logits).shape(), dy.dtype());
    kernels::cross_entropy_grad(saved(Logits).value(), target, 0, smoothing, kept(Statistics),
                                dy.item(), dx);
    return {{Logits, dx}};
  }

  Tensor target;
  Smoothing smoothing;
  std::shared_ptr<LossSums> sums = std::make_shared<LossSums>();  // of the last forward
};

struct LinearLabelSmoothingLoss final : Fused {
  static constexpr Formula formula{
      "linear_label_smoothing_loss",
      "y = Σ_rows KL(q ‖ softmax(u)), u = x Wᵀ + b",
      {"dx = du W, du = dy (Σq softmax(u) - q)", "dW = duᵀ x", "db = Σ_rows du"},
      "Szegedy et al. 2016, section 7"};
  enum Input { X, Weight, Bias };
  LinearLabelSmoothingLoss(const Tensor& t, Smoothing s) : target(t.contiguous()), smoothing(s) {}

  Var explicit_form(const Var& x, const Var& weight, const Var& bias) const {
    return kl_of_logits(linear(x, weight, bias), target, smoothing, *sums);
  }
  Grads gradient(const Var& dy) const override {
    const Var &x = saved(X), &weight = saved(Weight);
    Var du = logits_gradient(linear(x, weight, saved(Bias)), target, smoothing, dy);
    return {{X, matmul(du, weight)}, {Weight, matmul(transpose(du), x)}, {Bias, sum(du, {0})}};
  }

  // ---- the kernel ----
  // Logits are large (N V numbers) and exist in chunks. Forward has each chunk at hand, so it keeps the
  // gradients for dy = 1: computing the logits again in backward would take a third product of that size.
  Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    save(X, Weight, Bias);
    require_classes(formula.op, target, weight.size(0));
    auto like = [&](Input i, const Tensor& of) {
      return of.defined() && needs_grad(i) ? empty(of.shape(), of.dtype()) : Tensor();
    };
    kernels::LinearCrossEntropy::Gradients d{like(X, x), like(Weight, weight), like(Bias, bias)};
    *sums = kernels::LinearCrossEntropy::run(x, weight, bias, target, smoothing, d)
                .sum(target, smoothing, weight.size(0));
    keep(d.x, d.weight, d.bias);
    return scalar(sums->kl, x.dtype());
  }
  Grads fast_gradient(const Var& dy) const override {
    auto times_dy = [&](Input i) { return kept(i).defined() ? mul(kept(i), dy.item()) : Tensor(); };
    return {{X, times_dy(X)}, {Weight, times_dy(Weight)}, {Bias, times_dy(Bias)}};
  }

  Tensor target;
  Smoothing smoothing;
  std::shared_ptr<LossSums> sums = std::make_shared<LossSums>();  // of the last forward
};

template <class OpT, class... Inputs>
MeasuredLoss measured(OpT op, const Operand& first, const Inputs&... rest) {
  std::shared_ptr<LossSums> sums = op.sums;
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
  require_smoothing("label_smoothing_loss", smoothing, logits->size(1), pad);
  return ops::measured(ops::LabelSmoothingLoss(target, {smoothing, pad}), logits);
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
  require_smoothing("linear_label_smoothing_loss", smoothing, weight.size(0), pad);
  return ops::measured(ops::LinearLabelSmoothingLoss(target, {smoothing, pad}), x, weight, bias);
}

}  // namespace glim
