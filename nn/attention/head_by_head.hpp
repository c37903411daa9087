// Multi-head attention head by head, as the paper writes it (Vaswani et al. 2017, section 3.2.2). MultiheadAttention
// computes all heads by one op, and equals it (tests/nn/attention/multihead.cpp).
//
//   attention(Q, K, V) = softmax(Q Kᵀ/√Dh) V           (autograd/ops/attention.cpp)
//   head_i = attention(Q W_i^Q, K W_i^K, V W_i^V)      y = concat(head_1 ... head_H) W^O
//
//   query (B, T, D)   key, value (B, S, D)   y (B, T, D)   D = H Dh
//   (W_i^Q)ᵀ is rows i Dh to (i + 1) Dh of the stored (W^Q)ᵀ. With G heads of keys and values, H/G heads of
//   queries share one.
#pragma once

#include "nn/attention/multihead.hpp"

namespace glim {

// What `a`, made with these options, computes without dropout and cache. Without options, `positioned` is x itself, and
// only the masks are left of what is before the loop.
inline Var head_by_head(MultiheadAttention& a, const AttentionOptions& options, const Var& query,
                        const Var& key, const Var& value, const AttentionRequest& request = {}) {
  using enum InProjection::Part;
  const InProjection& w = a.in_proj;
  const Index h = w.heads(), dh = a.d_model() / h, g = (w.end(Key) - w.begin(Key)) / dh;
  RotaryPositions rotary(dh % 2 == 0 ? dh : 2, options.rotary_base);
  const Index t = query.size(1), s = key.size(1);
  const Var alibi = options.positions == Positions::Alibi
                        ? alibi_bias(h, t, s, 0, a.out_proj.weight.dtype())
                        : Var();
  const AttentionMask masks = combined(request, {query.size(0), h, t, s}, 0, alibi);

  // x W_i + b_i: (B, ., Dh)
  auto projected = [&](const Var& x, InProjection::Part part, Index i) {
    const Index first = w.begin(part) + (part == Query ? i : i * g / h) * dh;
    const Var bias = w.bias.defined() ? slice(w.bias, 0, first, first + dh) : Var();
    return linear(x, slice(w.weight, 0, first, first + dh), bias);
  };
  // R x, then (x - mean)/σ ⊙ γ, where the options have them
  auto positioned = [&](const Var& x, const char* norm) {
    const Var y = options.positions == Positions::Rotary ? rotary(x) : x;
    if (!options.qk_norm) return y;
    const Var centred = y - mean(y, {-1}, true);
    const Var gain(a.state_dict().at(std::string(norm) + ".weight"));
    return centred / sqrt(mean(centred * centred, {-1}, true) + options.norm_eps) * gain;
  };
  // (B or 1, H or 1, T, S) -> (B or 1, T, S)
  auto head_of = [](const auto& mask, Index i) {
    return mask.defined() ? select(mask, 1, mask.size(1) == 1 ? 0 : i) : mask;
  };

  std::vector<Var> contexts;
  for (Index i = 0; i < h; ++i) {
    const Var q = positioned(projected(query, Query, i), "q_norm");
    const Var k = positioned(projected(key, Key, i), "k_norm");
    const Var v = projected(value, Value, i);
    AttentionMask mask;
    mask.scale = options.scale;
    mask.form = options.form;
    mask.keep = head_of(masks.keep, i);
    mask.bias = head_of(masks.bias, i);
    contexts.push_back(scaled_dot_product_attention(q, k, v, mask).context);  // softmax(q kᵀ/√Dh) v
  }
  return a.out_proj(concatenate(contexts, -1));
}

}  // namespace glim
