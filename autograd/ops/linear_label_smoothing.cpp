// The output projection and its loss in one op, in chunks of rows: the logits of a whole batch,
// (N, V), never exist.
//
//   u = x Wᵀ + b        x: (N, I)   W: (V, I)   b: (V,)
//   loss = Σ_rows KL(q ‖ softmax(u))            (label_smoothing.cpp)
//
//   du = dy (Σq softmax(u) - q)
//   dx = du W      dW = duᵀ x      db = Σ_rows du
//
// Forward knows everything that backward needs but the number dy, so it computes the gradients for
// dy = 1 chunk by chunk, du in place of u; backward multiplies by dy. Chunks depend on V alone and
// are added up in order. Nothing of this is done when no gradient is wanted.
#include <algorithm>
#include <utility>

#include "autograd/magnification.hpp"
#include "autograd/ops/fused.hpp"
#include "autograd/ops/smoothing.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

// Logits of one chunk: 2²² numbers, 16 MiB in float32.
Index rows_per_chunk(Index classes) {
  return std::max<Index>(64, (Index{1} << 22) / std::max<Index>(1, classes));
}

struct LinearLabelSmoothingLoss final : FusedOp {
  enum Input { X, Weight, Bias };
  LinearLabelSmoothingLoss() = default;
  LinearLabelSmoothingLoss(Tensor target, Smoothing smoothing, LossSums* sums)
      : target_(target.contiguous()), smoothing_(smoothing), sums_(sums) {}
  std::string_view name() const override { return "linear_label_smoothing_loss"; }

  Var composition(const std::vector<Var>& in) const override {
    return label_smoothing_loss(linear(in[X], in[Weight], in[Bias]), target_, smoothing_.epsilon,
                                smoothing_.pad);
  }

  Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    save(X);
    save(Weight);
    save(Bias);
    Index count = x.size(0), classes = weight.size(0);
    require_classes(name(), target_, classes);
    Rowwise rows{empty({count}, DType::Float64), empty({count}, DType::Float64)};
    run(x, weight, bias, rows);
    LossSums total;
    const Index* target = target_.data<Index>();
    for (Index r = 0; r < count; ++r) {
      total.tokens += target[r] != smoothing_.pad;
      total.smoothed_ce += rows.cross.data<double>()[r];
      total.nll += rows.nll.data<double>()[r];
    }
    total.kl = total.smoothed_ce - smoothing_.entropy(total.tokens, classes);
    if (sums_) *std::exchange(sums_, nullptr) = total;
    return scalar(total.kl, x.dtype());
  }

  Grads backward(const Var& dy) const override {
    if (recording()) return through_composition({saved(X), saved(Weight), saved(Bias)}, dy);
    if (std::exchange(used_, true)) {
      Shape count{saved(X).size(0)};
      Rowwise rows{empty(count, DType::Float64), empty(count, DType::Float64)};
      run(saved(X).value(), saved(Weight).value(), saved(Bias).value(), rows);
    }
    double g = dy.item();
    Grads d;
    auto give = [&](Input input, Tensor& gradient) {
      if (!gradient.defined()) return;
      mul_(gradient, g);
      d[input] = Var(std::move(gradient));
      gradient = Tensor();
    };
    give(X, dx_);
    give(Weight, dweight_);
    give(Bias, dbias_);
    return d;
  }

  Index held_bytes() const override {
    Index total = 0;
    for (const Tensor* d : {&dx_, &dweight_, &dbias_})
      if (d->defined()) total += d->bytes();
    return total;
  }

 private:
  struct Rowwise {
    Tensor cross, nll;  // (N,)
  };

  // All chunks; the gradients that are wanted are those for dy = 1.
  void run(const Tensor& x, const Tensor& weight, const Tensor& bias, const Rowwise& out) const {
    if (needs_grad(X)) dx_ = empty(x.shape(), x.dtype());
    if (needs_grad(Weight)) dweight_ = empty(weight.shape(), x.dtype());
    if (dweight_.defined() && x.size(0) == 0) dweight_.fill_(0);  // no chunk writes it
    if (bias.defined() && needs_grad(Bias)) dbias_ = zeros(bias.shape(), x.dtype());
    Index chunk = rows_per_chunk(weight.size(0));
    for (Index begin = 0; begin < x.size(0); begin += chunk)
      run_chunk(x, weight, bias, begin, std::min(chunk, x.size(0) - begin), out);
  }

  void run_chunk(const Tensor& x, const Tensor& weight, const Tensor& bias, Index begin, Index rows,
                 const Rowwise& out) const {
    Index classes = weight.size(0);
    SmoothedTarget q = smoothing_.distribution(classes);
    Tensor part = x.narrow(0, begin, rows);
    Tensor u = matmul_then(part, weight.transpose(), {bias, false, nullptr});  // (rows, V)
    bool gradients = dx_.defined() || dweight_.defined() || dbias_.defined();
    const Index* target = target_.data<Index>() + begin;
    Tensor stats = empty({rows, 2}, x.dtype());
    visit_floating(u, name(), [&]<class T>() {
      parallel_for(rows, rows_per_piece(classes), [&](Index first, Index end) {
        T* rows_of_u = u.data<T>() + first * classes;
        T* s = stats.data<T>() + 2 * first;
        row_kernels<T>().cross_entropy(q, end - first, classes, rows_of_u, classes, target + first,
                                       s, out.cross.data<double>() + begin + first,
                                       out.nll.data<double>() + begin + first);
        if (gradients)
          row_kernels<T>().cross_entropy_grad(q, end - first, classes, rows_of_u, classes,
                                              target + first, s, T(1), rows_of_u, classes);
      });
    });
    if (dx_.defined()) matmul_into(dx_.narrow(0, begin, rows), u, weight, 1, 0);
    if (dweight_.defined()) matmul_into(dweight_, u.transpose(), part, 1, begin > 0 ? 1 : 0);
    if (dbias_.defined()) add_(dbias_, sum_of_rows(u));
  }

  Tensor target_;
  Smoothing smoothing_;
  LossSums* sums_ = nullptr;
  // For dy = 1, until backward takes them; another one computes them again.
  mutable Tensor dx_, dweight_, dbias_;
  mutable bool used_ = false;
};

}  // namespace

Var linear_label_smoothing_loss(const Var& x, const Var& weight, const Var& bias,
                                const Tensor& target, double smoothing, Index pad, LossSums* sums,
                                Where where) {
  auto bad_bias = [&] {
    return bias.defined() && (bias.shape() != Shape{weight.size(0)} || bias.dtype() != x.dtype());
  };
  if (x.rank() != 2 || weight.rank() != 2 || x.size(1) != weight.size(1) ||
      x.dtype() != weight.dtype() || bad_bias() || target.rank() != 1 ||
      target.dtype() != DType::Int64 || target.size(0) != x.size(0))
    throw with_operands(
        ShapeError("linear_label_smoothing_loss",
                   "needs x (N, I), weight (V, I), bias (V,) of one dtype, int64 targets (N,)"),
        Operand("x", x.value()), Operand("weight", weight.value()), Operand("bias", bias.value()),
        Operand("target", target));
  require_floating(x.value(), "linear_label_smoothing_loss");
  require_smoothing("linear_label_smoothing_loss", smoothing, weight.size(0), pad);
  if (magnification() == Magnification::Explicit)
    return label_smoothing_loss(linear(x, weight, bias, where), target, smoothing, pad, sums,
                                where);
  return apply(where, LinearLabelSmoothingLoss(target, {smoothing, pad}, sums), x, weight, bias);
}

}  // namespace glim
