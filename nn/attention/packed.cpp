// Projections that share one product: x = [Q K V] of self-attention, [K V] of a memory.
#include "nn/attention/multihead.hpp"

namespace glim {

AttentionOutput MultiheadAttention::forward(const Var& x, const AttentionRequest& request,
                                            KeyValueCache* cache) {
  if (!options_.batch_first && !cache) return forward(x, x, x, request);
  check(x, x, x);
  Var packed = project(x, Query, Value);  // (B, T, 3D), with share_qk (B, T, 2D)
  if (packs() && !cache) return attend_packed(packed, {}, request);
  auto part = [&](Part i) { return split_heads(slice(packed, 2, begin(i), begin(i) + d_)); };
  const Index offset = cache ? cache->length : 0;
  Var query = rotated(part(Query), offset), key = rotated(part(Key), offset), value = part(Value);
  if (cache) {
    cache->append(key.value(), value.value());
    key = cache->keys();
    value = cache->values();
  }
  return attend_heads(query, key, value, request, offset);
}

AttentionOutput MultiheadAttention::forward(const Var& x, const Var& memory,
                                            const AttentionRequest& request) {
  if (!options_.batch_first || !packs()) return forward(x, memory, memory, request);
  check(x, memory, memory);
  return attend_packed(project(x, Query), project(memory, Key, Value), request);
}

// x = [Q K V], or x = Q and memory = [K V]
AttentionOutput MultiheadAttention::attend_packed(const Var& x, const Var& memory,
                                                  const AttentionRequest& request) {
  Index t = x.size(1), s = memory.defined() ? memory.size(1) : t;
  return project_out(
      packed_attention(x, memory, h_, mask(request, x.size(0), t, s), dropout(),
                       dropout() > 0 ? generator().next() : RandomKey{}, request.need_weights),
      request);
}

// The projections for the parts from `first` to `last`, by one product: (B, T, parts·D).
Var MultiheadAttention::project(const Var& x, Part first, Part last) const {
  auto rows = [&](const Var& v) {
    return first == Query && last == Value ? v : slice(v, 0, begin(first), begin(last) + d_);
  };
  Var bias = options_.bias ? rows(in_proj_bias_) : Var();
  return linear(x, rows(in_proj_weight), bias);
}

// True if nothing comes between the projections and the heads.
bool MultiheadAttention::packs() const {
  return in_proj_weight.defined() && !options_.share_qk && !rotary_ && !bias_k_.defined() &&
         !options_.add_zero_attn;
}

}  // namespace glim
