#include "nn/loss.hpp"

#include <limits>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

Var reduce(const Var& loss, Reduction reduction, double counted) {
  if (reduction == Reduction::None) return loss;
  Var total = sum(loss);
  return reduction == Reduction::Mean && counted > 0 ? total / counted : total;
}

// -Σ q ln p along the last axis, where 0 ln 0 is 0.
Var expected(const Var& log_probs, const Var& q) {
  const Tensor& l = log_probs.value();
  Tensor impossible =
      logical_and(equal(l, -std::numeric_limits<double>::infinity()), equal(q.value(), 0));
  return -sum(where(impossible, Var(scalar(0, l.dtype())), log_probs) * q, {-1});
}

// x (..., V) and target (...): a row of x for each target.
void require_rows(const Var& x, const Tensor& target) {
  bool fit = x.rank() == target.rank() + 1;
  for (int i = 0; fit && i < target.rank(); ++i) fit = x.shape()[i] == target.shape()[i];
  if (!fit)
    throw ShapeError("cross_entropy", "x must be (..., V), with one target for each row",
                     {{"x", x}, {"target", target}});
  if (target.dtype() != DType::Int64)
    throw DTypeError("cross_entropy", "targets must be int64", {{"target", target}});
}

}  // namespace

Var cross_entropy(const Var& logits, const Var& target, const CrossEntropyOptions& options) {
  Scope scope("cross_entropy");
  const Var& weight = options.weight;
  const bool distribution = target.shape() == logits.shape() && is_floating(target.dtype());
  if (!distribution) require_rows(logits, target.value());
  const Index classes = logits.size(-1);
  if (weight.defined() && weight.shape() != Shape{classes})
    throw ShapeError(
        "cross_entropy",
        "weight must have one element for each of " + std::to_string(classes) + " classes",
        {{"logits", logits}, {"weight", weight}});
  double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    throw ValueError("cross_entropy",
                     "label smoothing " + number_text(smoothing) + " is outside [0, 1]");
  Var log_probs = log_softmax(logits, -1);
  if (distribution) {
    if (options.ignore_index >= 0)
      throw ValueError("cross_entropy",
                       "ignore_index " + std::to_string(options.ignore_index) +
                           " needs classes as targets, not distributions",
                       {{"target", target}});
    Var q = target;
    if (smoothing > 0) q = (1 - smoothing) * q + smoothing / static_cast<double>(classes);
    Var loss = expected(log_probs, weight.defined() ? q * weight : q);
    return reduce(loss, options.reduction, static_cast<double>(loss.numel()));
  }
  Tensor counted = not_equal(target.value(), static_cast<double>(options.ignore_index));
  const Var zero(scalar(0, logits.dtype()));
  Tensor t = where(counted, target.value(), scalar(0, DType::Int64));
  require_indices("cross_entropy", t, classes, "target");
  Var picked = gather(log_probs, -1, unsqueeze(t, -1)), loss, shares;  // (..., V) -> (..., 1)
  if (weight.defined()) {
    shares = reshape(index_select(weight, 0, reshape(t, {-1})), t.shape());  // w[t]
    loss = expected(picked, unsqueeze(shares, -1));
  } else {
    loss = -squeeze(picked, -1);
  }
  if (smoothing > 0) {
    // The cross-entropy of ε/V on every class.
    Var spread = weight.defined() ? expected(log_probs, weight) / static_cast<double>(classes)
                                  : neg(mean(log_probs, {-1}));
    Var on_all = smoothing < 1 ? smoothing * spread : spread;
    loss = smoothing < 1 ? (1 - smoothing) * loss + on_all : on_all;
  }
  loss = where(counted, loss, zero);
  if (!weight.defined() || options.reduction != Reduction::Mean)
    return reduce(loss, options.reduction, sum(counted).item());
  Var total = sum(loss), divisor = sum(where(counted, shares, zero));
  return divisor.item() != 0 ? total / divisor : 0 * total;
}

Var mse_loss(const Var& x, const Var& y, Reduction reduction) {
  Scope scope("mse_loss");
  if (x.shape() != y.shape())
    throw ShapeError("mse_loss", "both must have one shape", {{"x", x}, {"y", y}});
  Var difference = x - y;
  return reduce(difference * difference, reduction, static_cast<double>(x.numel()));
}

}  // namespace glim
