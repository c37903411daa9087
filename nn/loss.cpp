#include "nn/loss.hpp"

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

// x (..., V) and target (...): a row of x for each target.
void require_rows(std::string_view op, const Var& x, const Tensor& target) {
  bool fit = x.rank() == target.rank() + 1;
  for (int i = 0; fit && i < target.rank(); ++i) fit = x.shape()[i] == target.shape()[i];
  if (!fit)
    throw ShapeError(op, "x must be (..., V), with one target for each row",
                     {{"x", x}, {"target", target}});
  if (target.dtype() != DType::Int64)
    throw DTypeError(op, "targets must be int64", {{"target", target}});
}

}  // namespace

Var cross_entropy(const Var& logits, const Tensor& target, const CrossEntropyOptions& options) {
  Scope scope("cross_entropy");
  require_rows("cross_entropy", logits, target);
  double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    throw ValueError("cross_entropy",
                     "label smoothing " + number_text(smoothing) + " is outside [0, 1]");
  Tensor counted = not_equal(target, static_cast<double>(options.ignore_index));
  Var log_probs = log_softmax(logits, -1);
  const Tensor classes = where(counted, target, scalar(0, DType::Int64));
  require_indices("cross_entropy", classes, logits.size(-1), "target");
  Tensor at = unsqueeze(classes, -1);
  Var loss = -squeeze(gather(log_probs, -1, at), -1);  // (..., V) -> (..., 1) -> (...)
  if (smoothing > 0) {
    Var spread = neg(mean(log_probs, {-1}));  // the cross-entropy of ε/V on every class
    loss = smoothing < 1 ? (1 - smoothing) * loss + smoothing * spread : spread;
  }
  loss = where(counted, loss, Var(scalar(0, loss.dtype())));
  return reduce(loss, options.reduction, sum(counted).item());
}

Var mse_loss(const Var& x, const Var& y, Reduction reduction) {
  Scope scope("mse_loss");
  if (x.shape() != y.shape())
    throw ShapeError("mse_loss", "both must have one shape", {{"x", x}, {"y", y}});
  Var difference = x - y;
  return reduce(difference * difference, reduction, static_cast<double>(x.numel()));
}

LabelSmoothing::LabelSmoothing(double smoothing, Index pad) : smoothing_(smoothing), pad_(pad) {
  if (!(smoothing >= 0 && smoothing < 1))
    throw ValueError("label_smoothing",
                     "smoothing " + number_text(smoothing) + " is outside [0, 1)");
}

MeasuredLoss LabelSmoothing::forward(const Var& logits, const Tensor& target, Index tokens) {
  require_rows("label_smoothing", logits, target);
  Var rows = reshape(logits, {target.numel(), logits.size(-1)});  // (..., V) -> (N, V)
  auto [loss, sums] = label_smoothing_loss(rows, reshape(target, {-1}), smoothing_, pad_);
  Index divisor = tokens > 0 ? tokens : sums.tokens;
  return {divisor > 0 ? loss / static_cast<double>(divisor) : loss, sums};
}

}  // namespace glim
