// Multi-head attention as the paper writes it: H heads of their own, then concatenated.
#pragma once

#include "nn/attention/multihead.hpp"

namespace glim {

// What `a`, made with these options, computes without dropout. Queries share no keys: kv_heads is 0 or `heads`.
inline Var head_by_head(MultiheadAttention& a, Index heads, const AttentionOptions& options,
                        const Var& query, const Var& key, const Var& value,
                        const AttentionRequest& request = {}) {
  const Index d = a.d_model(), dh = d / heads, t = query.size(1), s = key.size(1);
  const Index starts[] = {0, options.share_qk ? 0 : d, options.share_qk ? d : 2 * d};  // of W^Q ...
  RotaryPositions rotary(dh % 2 == 0 ? dh : 2, options.rotary_base);
  Var alibi;
  if (options.positions == Positions::Alibi)
    alibi = alibi_bias(heads, t, s, 0, a.out_proj.weight.dtype());
  const AttentionMask all = combined(request, {query.size(0), heads, t, s}, 0, alibi);
  std::vector<Var> contexts;
  for (Index head = 0; head < heads; ++head) {
    auto part = [&](const Var& x, int i) {
      const Index first = starts[i] + head * dh;
      const Var& b = a.in_proj.bias;
      return linear(x, slice(a.in_proj.weight, 0, first, first + dh),
                    b.defined() ? slice(b, 0, first, first + dh) : Var());  // (B, T, Dh)
    };
    // R x, then (x - mean)/σ ⊙ γ
    auto between = [&](const Var& x, const char* norm) {
      const Var y = options.positions == Positions::Rotary ? rotary(x) : x;
      if (!options.qk_norm) return y;
      const Var centred = y - mean(y, {-1}, true);
      const Var gain(a.state_dict().at(std::string(norm) + ".weight"));
      return centred / sqrt(mean(centred * centred, {-1}, true) + options.norm_eps) * gain;
    };
    AttentionMask own;  // (B or 1, H or 1, T, S) -> (B or 1, T, S)
    own.scale = options.scale;
    if (all.keep.defined()) own.keep = select(all.keep, 1, all.keep.size(1) == 1 ? 0 : head);
    if (all.bias.defined()) own.bias = select(all.bias, 1, all.bias.size(1) == 1 ? 0 : head);
    contexts.push_back(scaled_dot_product_attention(between(part(query, 0), "q_norm"),
                                                    between(part(key, 1), "k_norm"), part(value, 2),
                                                    own)
                           .context);
  }
  return a.out_proj(concatenate(contexts, -1));
}

}  // namespace glim
