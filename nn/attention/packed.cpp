// Multi-head attention by fewer products: Q, K and V of one sequence are columns of one product with in_proj_weight, and
// K and V of a memory of another. Values and gradients are those of multihead.cpp.
#include "nn/attention/multihead.hpp"

namespace glim {

AttentionOutput MultiheadAttention::forward(const Var& x, const AttentionRequest& request,
                                            KeyValueCache* cache) {
  Var packed = project(x, Query, Value);  // [Q K V] (B, T, 3D), with share_qk (B, T, 2D)
  if (packs() && !cache)
    return project_out(packed_attention(packed, {}, h_, mask(request, x, x), dropout(),
                                        dropout_key(), request.need_weights),
                       request.average_weights);
  auto part = [&](Part i) { return split_heads(slice(packed, 2, begin(i), end(i))); };
  const Index offset = cache ? cache->length : 0;
  Var query = rotated(part(Query), offset), key = rotated(part(Key), offset), value = part(Value);
  if (cache) {
    cache->append(key.value(), value.value());
    key = cache->keys();
    value = cache->values();
  }
  return attend_heads(query, key, value, mask(request, query, key, offset), request);
}

AttentionOutput MultiheadAttention::forward(const Var& x, const Var& memory,
                                            const AttentionRequest& request) {
  if (!packs()) return forward(x, memory, memory, request);
  Var kv = project(memory, Key, Value), q = project(x, Query, Query);  // (B, S, 2D), (B, T, D)
  return project_out(packed_attention(q, kv, h_, mask(request, x, memory), dropout(), dropout_key(),
                                      request.need_weights),
                     request.average_weights);
}

}  // namespace glim
