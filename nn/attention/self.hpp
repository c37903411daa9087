// Single-head self-attention with widths of its own for keys and values:
//
//   Q = x W_qᵀ + b_q   K = x W_kᵀ + b_k   V = x W_vᵀ + b_v      y = softmax(Q Kᵀ/√d_k + mask) V
//
//   x: (..., T, D)   Q, K: (..., T, d_k)   V, y: (..., T, d_v)   probs: (..., T, T)
//
// Vaswani et al. 2017, equation 1; the scale is before the softmax. There is no output
// projection. With d_k = D/h, d_v = D/h this is one head of multi-head attention.
#pragma once

#include "nn/linear.hpp"

namespace glim {

class SelfAttention : public Callable<SelfAttention, Layer> {
 public:
  // dropout_p: of the probabilities, in training. ValueError unless the widths are positive.
  SelfAttention(Index d_model, Index d_k, Index d_v, double dropout_p = 0, bool bias = true);

  Child<Linear> query, key, value;

  Var forward(const Var& x) override;
  // With a mask (keep: true = may attend), and the probabilities if asked for.
  AttentionResult forward(const Var& x, const AttentionMask& mask, bool need_probs = false);

 private:
  double dropout_p_;
};

}  // namespace glim
