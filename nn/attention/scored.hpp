// Attention by a score of one query against each key, as recurrent decoders use it:
//
//   e_ts = score(q_t, k_s)      a_t = softmax over the kept s of e_t      c_t = Σ_s a_ts v_s
//
//   query (B, T, Q)   keys (B, S, K)   values (B, S, Dv)   e, a (B, T, S)   c (B, T, Dv)
//
//   additive  score(q, k) = v · tanh(W_q q + W_k k + b)   Bahdanau, Cho & Bengio 2015 (arXiv 1409.0473), A.1.2
//   dot       score(q, k) = q · k, Q = K                  Luong, Pham & Manning 2015 (arXiv 1508.04025), 3.1
//   general   score(q, k) = q · W k                       the same
//   concat    score(q, k) = v · tanh(W [q; k])            the same: additive without b
//
// W_q is query.weight (A, Q), W_k key.weight (A, K), b key.bias (A,) and v v.weight (1, A); general's W is key.weight
// (Q, K). They start as torch.nn.Linear's. The gradients are in autograd/ops/matmul.cpp and additive_scores.cpp.
// Luong's scores are not divided by √Q: nn/attention/self.hpp has the scaled product.
//
// A score looks at the keys through a projection that does not depend on the query: it is computed
// once for a source sentence, however many steps a decoder takes.
//
// Errors: ValueError unless the sizes are positive, and for dot unless Q = K; ShapeError naming what does not fit;
// DTypeError unless keep is bool.
#pragma once

#include "nn/choice.hpp"
#include "nn/linear.hpp"

namespace glim {

// A model with this choice may be made without attention (None). A ScoredAttention of None is a ValueError.
enum class AttentionScore { Additive, Dot, General, Concat, None };
template <>
inline const ChoiceNames<AttentionScore> kNames<AttentionScore>{
    {{"additive", AttentionScore::Additive},
     {"dot", AttentionScore::Dot},
     {"general", AttentionScore::General},
     {"concat", AttentionScore::Concat},
     {"none", AttentionScore::None}}};

class ScoredAttention : public Module {
 public:
  // width: A; 0 means Q.
  ScoredAttention(AttentionScore score, Index query_size, Index key_size, Index width = 0);

  Child<std::unique_ptr<Linear>> query, key, v;  // the ones that the score uses

  // keys (B, S, K) -> what attend() reads.
  Var project(const Var& keys);
  // keep: (B, S) or (B, T, S) bool, true = may attend; a query that may attend to nothing gets
  // context 0. The probabilities are always returned.
  AttentionResult attend(const Var& query, const Var& projected, const Var& values,
                         const Tensor& keep = {});
};

}  // namespace glim
