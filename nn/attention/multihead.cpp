#include "nn/attention/multihead.hpp"

namespace glim {

AttentionOutput MultiheadAttention::forward(const Var& query, const Var& key, const Var& value,
                                            const AttentionRequest& request) {
  Heads heads = in_proj(query, key, value);  // Q_i, K_i, V_i = Q W_i^Q, K W_i^K, V W_i^V
  head_options_.add_to(heads, request);      // masks; by options angles, cached keys
  return attend_and_join(heads, request);    // concat_i(softmax(Q_i K_iᵀ / √Dh) V_i) W^O
}

AttentionOutput MultiheadAttention::attend_and_join(const Heads& heads,
                                                    const AttentionRequest& request) {
  const double p = training() ? dropout_ : 0;
  const RandomKey dropout_key = p > 0 ? generator().next() : RandomKey{};
  auto [context, probs] = heads.attend(p, dropout_key, request.need_weights);  // merged: (B, T, D)
  const bool averaged = request.average_weights && probs.defined();
  return {out_proj(context), averaged ? mean(probs, {1}) : probs};
}

MultiheadAttention::MultiheadAttention(Index d_model, Index heads, AttentionOptions options,
                                       bool packed)
    : d_(require_options(d_model, heads, options)),
      dropout_(options.dropout),
      GLIM_NAMED(out_proj, d_model, d_model, options.bias),
      in_proj(*this, d_model, heads, options, packed),
      head_options_(*this, d_model / heads, options) {
  if (options.bias) out_proj.bias.value().fill_(0);
}

}  // namespace glim
