//   loss = Σ_rows Σ_v q_v (ln q_v - ln p_v), p = softmax(logits), 0 ln 0 = 0
#include <cmath>

#include "autograd/ops.hpp"
#include "tensor/elementwise.hpp"
#include "tensor/index.hpp"
#include "tensor/reduce.hpp"

namespace glim {

Var label_smoothing_loss(const Var& logits, const Tensor& target, double smoothing, Index pad,
                         LossSums* sums, Where where) {
  if (logits.rank() != 2 || target.rank() != 1 || target.dtype() != DType::Int64 ||
      target.size(0) != logits.size(0))
    throw with_operands(
        ShapeError("label_smoothing_loss", "needs logits (N, V) and int64 targets (N,)"),
        Operand("logits", logits.value()), Operand("target", target));
  Index classes = logits.size(1);
  if (!(smoothing >= 0 && smoothing < 1) || (smoothing > 0 && classes < 3))
    throw ValueError("label_smoothing_loss", "smoothing " + std::to_string(smoothing) +
                                                 " must lie in [0, 1), and V be 3 at least");
  DType dtype = logits.dtype();
  Tensor real = not_equal(target, static_cast<double>(pad));  // (N,)
  double rest = smoothing > 0 ? smoothing / static_cast<double>(classes - 2) : 0;
  Tensor hit = one_hot(target, classes, dtype);  // (N, V)
  Tensor q = add(mul(hit, 1 - smoothing - rest), rest);
  if (pad >= 0 && pad < classes) q.select(1, pad).fill_(0);
  q = mul(q, real.unsqueeze(1).to(dtype));
  Var log_probs = named(log_softmax(logits, -1, where), "log_probs");
  Var cross = neg(sum(mul(log_probs, Var(q), where), {}, false, where), where);  // -Σ q ln p
  auto x_log_x = [](double v) { return v > 0 ? v * std::log(v) : 0.0; };
  auto tokens = static_cast<Index>(sum(real).item());
  double others = static_cast<double>(classes - 2);
  double entropy = -static_cast<double>(tokens) *
                   (x_log_x(1 - smoothing) + (rest > 0 ? others * x_log_x(rest) : 0));
  if (sums) {
    sums->tokens = tokens;
    sums->smoothed_ce = cross.item();
    sums->kl = sums->smoothed_ce - entropy;
    Tensor picked = gather(log_probs.value(), 1, target.unsqueeze(1)).squeeze(1);
    sums->nll = -dot(picked, real.to(dtype));
  }
  return add(cross, -entropy, where);
}

}  // namespace glim
