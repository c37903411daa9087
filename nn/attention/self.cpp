#include "nn/attention/self.hpp"

namespace glim {

SelfAttention::SelfAttention(Index d_model, Index d_k, Index d_v, double dropout_p, bool bias)
    : GLIM_NAMED(query, d_model, d_k, bias),
      GLIM_NAMED(key, d_model, d_k, bias),
      GLIM_NAMED(value, d_model, d_v, bias),
      dropout_p_(dropout_p) {
  if (d_model < 1 || d_k < 1 || d_v < 1)
    throw ValueError("self_attention", "d_model, d_k and d_v must be positive");
  if (!(dropout_p >= 0 && dropout_p <= 1))
    throw ValueError("self_attention", "the dropout probability is outside [0, 1]");
}

Var SelfAttention::forward(const Var& x) { return forward(x, AttentionMask{}).context; }

AttentionResult SelfAttention::forward(const Var& x, const AttentionMask& mask, bool need_probs) {
  Var q = query(x), k = key(x), v = value(x);
  bool drop = training() && dropout_p_ > 0;
  return scaled_dot_product_attention(q, k, v, mask, drop ? dropout_p_ : 0,
                                      drop ? generator().next() : RandomKey{}, need_probs);
}

}  // namespace glim
