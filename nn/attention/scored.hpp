// Attention by a score of one query against each key, as recurrent decoders use it:
//
//   e_ts = score(q_t, k_s)      a_t = softmax over the kept s of e_t      c_t = Σ_s a_ts v_s
//
//   query (B, T, Q)   keys (B, S, K)   values (B, S, Dv)   e, a (B, T, S)   c (B, T, Dv)
//
// A score looks at the keys through a projection that does not depend on the query: it is computed
// once for a source sentence, however many steps a decoder takes. The scores themselves are
// nn/attention/additive.hpp and nn/attention/multiplicative.hpp.
//
// Errors: ShapeError naming what does not fit; DTypeError unless keep is bool.
#pragma once

#include "nn/linear.hpp"

namespace glim {

class ScoredAttention : public Callable<ScoredAttention> {
 public:
  // keys (B, S, K) -> what scores() reads.
  Var project(const Var& keys) {
    return in_scope([&] { return projection(keys); });
  }
  // keep: (B, S) or (B, T, S) bool, true = may attend; a query that may attend to nothing gets
  // context 0. The probabilities are always returned.
  AttentionResult attend(const Var& query, const Var& projected, const Var& values,
                         const Tensor& keep = {}) {
    return in_scope([&] { return attended(query, projected, values, keep); });
  }

 private:
  friend Callable;
  // attend(), with keys that are not yet projected.
  AttentionResult forward(const Var& query, const Var& keys, const Var& values,
                          const Tensor& keep = {}) {
    return attended(query, projection(keys), values, keep);
  }
  AttentionResult attended(const Var& query, const Var& projected, const Var& values,
                           const Tensor& keep);
  virtual Var projection(const Var& keys) = 0;
  // query (B, T, Q) -> e (B, T, S), for projected keys.
  virtual Var scores(const Var& query, const Var& projected) = 0;
};

}  // namespace glim
