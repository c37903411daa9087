//   scores = Q Kᵀ/√Dk (+ bias)      probs = softmax over kept keys      context = dropout(probs) V
//
// Vaswani et al. 2017, section 3.2.1. The scale stands before the softmax: q·k of independent
// entries of variance 1 has variance Dk, and a softmax of large scores has almost no gradient.
#include <cmath>

#include "autograd/ops.hpp"

namespace glim {

Attended scaled_dot_product_attention(const Var& query, const Var& key, const Var& value,
                                      const AttentionMask& mask, double dropout_p, Key dropout_key,
                                      bool need_probs, Where where) {
  double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  Var scores = named(mul(matmul(query, transpose(key, -2, -1, where), where), scale, where),
                     "scores");  // (..., T, S)
  if (mask.bias.defined()) scores = named(add(scores, mask.bias, where), "biased_scores");
  Var probs = named(
      mask.keep.defined() ? masked_softmax(scores, mask.keep, where) : softmax(scores, -1, where),
      "probs");
  Var context = named(matmul(dropout(probs, dropout_p, dropout_key, where), value, where),
                      "context");  // (..., T, Dv)
  return {context, need_probs ? probs : Var()};
}

}  // namespace glim
