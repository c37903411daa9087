// Additive attention (Bahdanau, Cho & Bengio 2015, arXiv 1409.0473, appendix A.1.2):
//
//   score(q, k) = v · tanh(W_q q + W_k k + b)      v (A,)   W_q (A, Q)   W_k (A, K)   b (A,)
//
// The gradients are in autograd/ops/additive_scores.cpp. Parameters: query.weight (A, Q),
// key.weight (A, K), key.bias (A,), v.weight (1, A); they start as torch.nn.Linear's.
// ValueError unless the sizes are positive.
#pragma once

#include "nn/attention/scored.hpp"

namespace glim {

class AdditiveAttention : public ScoredAttention {
 public:
  AdditiveAttention(Index query_size, Index key_size, Index width);

  Child<Linear> query, key, v;

 private:
  Var projection(const Var& keys) override;  // W_k k + b: (B, S, A)
  Var scores(const Var& q, const Var& projected) override;
};

}  // namespace glim
