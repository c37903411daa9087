//   loss = Σ_rows Σ_v q_v (ln q_v - ln p_v), p = softmax(logits), 0 ln 0 = 0
//        = Σ_rows (Σq ln Σ e^x - Σ q x) - entropy of q
//   dlogits = dy (Σq p - q)      reads logits, and each row's maximum and 1/Σ e^{x - max}
//
// q is 1-ε for the target, 0 for pad, ε/(V-2) for the rest (ε/(V-1) where pad is no class); a row
// whose target is pad counts 0 and has gradient 0. Neither p nor q exists as a tensor: a row is read twice while it is in the cache.
// Rows add up in float64, in order.
#include <cmath>

#include "autograd/magnification.hpp"
#include "autograd/ops/fused.hpp"
#include "autograd/ops/smoothing.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {
namespace {

Var composed(const Var& logits, const Tensor& target, const Smoothing& s, LossSums* sums,
             Where where) {
  Index classes = logits.size(1);
  DType dtype = logits.dtype();
  Tensor real = not_equal(target, static_cast<double>(s.pad));  // (N,)
  double rest = s.rest(classes);
  Tensor hit = one_hot(target, classes, dtype);  // (N, V)
  Tensor q = add(mul(hit, 1 - s.epsilon - rest), rest);
  if (s.pad >= 0 && s.pad < classes) q.select(1, s.pad).fill_(0);
  q = mul(q, real.unsqueeze(1).to(dtype));
  Var log_probs = named(log_softmax(logits, -1, where), "log_probs");
  Var cross = neg(sum(mul(log_probs, Var(q), where), {}, false, where), where);  // -Σ q ln p
  auto tokens = static_cast<Index>(sum(real).item());
  double entropy = s.entropy(tokens, classes);
  if (sums) {
    sums->tokens = tokens;
    sums->smoothed_ce = cross.item();
    sums->kl = sums->smoothed_ce - entropy;
    Tensor picked = gather(log_probs.value(), 1, target.unsqueeze(1)).squeeze(1);
    sums->nll = -dot(picked, real.to(dtype));
  }
  return add(cross, -entropy, where);
}

struct LabelSmoothingLoss final : FusedOp {
  enum Input { Logits };
  LabelSmoothingLoss() = default;
  LabelSmoothingLoss(Tensor target, Smoothing smoothing, LossSums* sums)
      : target_(target.contiguous()), smoothing_(smoothing), sums_(sums) {}
  std::string_view name() const override { return "label_smoothing_loss"; }

  Var composition(const std::vector<Var>& in) const override {
    return composed(in[Logits], target_, smoothing_, nullptr, Where::current());
  }

  Tensor forward(const Tensor& logits) {
    save(Logits);
    Rows in = rows_of(logits);
    Index count = logits.size(0), classes = logits.size(1);
    const Index* target = target_.data<Index>();
    require_classes(name(), target_, classes);
    stats_ = empty({count, 2}, logits.dtype());
    Tensor cross = empty({count}, DType::Float64), nll = empty({count}, DType::Float64);
    SmoothedTarget q = smoothing_.distribution(classes);
    visit_floating(logits, "label_smoothing_loss", [&]<class T>() {
      parallel_for(in.count, rows_per_piece(in.columns), [&](Index begin, Index end) {
        row_kernels<T>().cross_entropy(q, end - begin, in.columns, in.x.data<T>() + begin * in.ld,
                                       in.ld, target + begin, stats_.data<T>() + 2 * begin,
                                       cross.data<double>() + begin, nll.data<double>() + begin);
      });
    });
    LossSums total;
    for (Index r = 0; r < count; ++r) {
      total.tokens += target[r] != smoothing_.pad;
      total.smoothed_ce += cross.data<double>()[r];
      total.nll += nll.data<double>()[r];
    }
    total.kl = total.smoothed_ce - smoothing_.entropy(total.tokens, classes);
    if (sums_) *std::exchange(sums_, nullptr) = total;
    return scalar(total.kl, logits.dtype());
  }

  Grads backward(const Var& dy) const override {
    if (recording()) return through_composition({saved(Logits)}, dy);
    Rows in = rows_of(saved(Logits).value());
    Tensor dx = empty(saved(Logits).shape(), in.x.dtype());
    SmoothedTarget q = smoothing_.distribution(in.columns);
    visit_floating(in.x, "label_smoothing_loss", [&]<class T>() {
      auto g = static_cast<T>(dy.item());
      parallel_for(in.count, rows_per_piece(in.columns), [&](Index begin, Index end) {
        row_kernels<T>().cross_entropy_grad(
            q, end - begin, in.columns, in.x.data<T>() + begin * in.ld, in.ld,
            target_.data<Index>() + begin, stats_.data<T>() + 2 * begin, g,
            dx.data<T>() + begin * in.columns, in.columns);
      });
    });
    Grads d;
    d[Logits] = Var(dx);
    return d;
  }

 private:
  Tensor target_;
  Smoothing smoothing_;
  LossSums* sums_ = nullptr;
  Tensor stats_;  // (N, 2)
};

}  // namespace

Var label_smoothing_loss(const Var& logits, const Tensor& target, double smoothing, Index pad,
                         LossSums* sums, Where where) {
  if (logits.rank() != 2 || target.rank() != 1 || target.dtype() != DType::Int64 ||
      target.size(0) != logits.size(0))
    throw with_operands(
        ShapeError("label_smoothing_loss", "needs logits (N, V) and int64 targets (N,)"),
        Operand("logits", logits.value()), Operand("target", target));
  require_floating(logits.value(), "label_smoothing_loss");
  require_smoothing("label_smoothing_loss", smoothing, logits.size(1), pad);
  Smoothing s{smoothing, pad};
  if (magnification() == Magnification::Explicit) return composed(logits, target, s, sums, where);
  return apply(where, LabelSmoothingLoss(target, s, sums), logits);
}

}  // namespace glim
