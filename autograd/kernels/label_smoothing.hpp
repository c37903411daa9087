// Cross-entropy against a smoothed target by rows (autograd/ops/label_smoothing.cpp): a row of logits is read
// twice while it is in the cache; neither p nor q exists as a tensor. Each row's maximum and
// Σ q/Σ e^{x - max} are kept. Rows add up in float64, in order.
#pragma once

#include "autograd/ops.hpp"
#include "autograd/ops/smoothing.hpp"

namespace glim::kernels {

struct CrossEntropyRows {
  explicit CrossEntropyRows(Index count);
  Tensor cross, nll;  // (N,) float64: -Σ q ln p and -ln p(target)
  LossSums sum(const Tensor& target, const Smoothing& s, Index classes) const;
};

// For rows [begin, begin + logits.size(0)) of the target and of `out`; stats: (rows, 2).
void cross_entropy(const Tensor& logits, const Tensor& target, Index begin, const Smoothing& s,
                   const Tensor& stats, const CrossEntropyRows& out);
// dx = dy (Σq p - q) into dx, which may be the logits where their rows are adjacent.
void cross_entropy_grad(const Tensor& logits, const Tensor& target, Index begin, const Smoothing& s,
                        const Tensor& stats, double dy, const Tensor& dx);

// The loss of logits u = x Wᵀ + b in chunks of rows: u never exists for all rows at once. Forward knows
// all that backward needs but the number dy, so it computes the gradients for dy = 1 chunk by chunk, du in
// place of u; backward multiplies by dy. Chunks depend on V alone and are added up in order.
struct LinearCrossEntropy {
  struct Gradients {
    Tensor x, weight, bias;  // undefined where not wanted
  };
  static CrossEntropyRows run(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const Tensor& target, const Smoothing& s, const Gradients& for_one);
};

}  // namespace glim::kernels
