// Multiplicative attention (Luong, Pham & Manning 2015, arXiv 1508.04025, section 3.1):
//
//   dot      score(q, k) = q · k                            Q = K
//   general  score(q, k) = q · W k                          key.weight W (Q, K)
//   concat   score(q, k) = v · tanh(W [q; k])               query.weight (A, Q) and key.weight
//                                                           (A, K), the parts of W; v.weight (1, A)
//
// The gradients are in autograd/ops/matmul.cpp and additive_scores.cpp.
// Luong's scores are not divided by √Q: nn/attention/self.hpp has the scaled product. Parameters
// start as torch.nn.Linear's without bias. ValueError unless the sizes are positive, and for dot
// unless Q = K.
#pragma once

#include "nn/attention/scored.hpp"

namespace glim {

enum class LuongScore { Dot, General, Concat };

class MultiplicativeAttention : public ScoredAttention {
 public:
  // width: A, for concat alone; 0 means Q.
  MultiplicativeAttention(LuongScore score, Index query_size, Index key_size, Index width = 0);

  ChildPtr<Linear> query, key, v;  // the ones that the score uses

 private:
  Var projection(const Var& keys) override;  // (B, S, K), (B, S, Q) or (B, S, A)
  Var scores(const Var& q, const Var& projected) override;
  LuongScore score_;
};

}  // namespace glim
