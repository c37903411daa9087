// Multi-head attention to a memory whose keys and values are kept while a sequence is decoded.
#include "nn/attention/multihead.hpp"

namespace glim {

KeyValueCache MultiheadAttention::project(const Var& memory) {
  return in_scope([&] {
    head_options_.require_distances({}, memory);
    KeyValueCache cache;
    cache.append(head_options_.normed_key(in_proj.heads(memory, InProjection::Key)),
                 in_proj.heads(memory, InProjection::Value));
    return cache;
  });
}

AttentionOutput MultiheadAttention::attend(const Var& x, const KeyValueCache& memory,
                                           const AttentionRequest& request) {
  Index rows = x.size(0), t = x.size(1), s = memory.length, memories = memory.key.size(0);
  if (memories < 1 || rows % memories != 0)
    throw ShapeError("attention", std::to_string(rows) + " rows do not share " +
                                      std::to_string(memories) + " memories evenly");
  return in_scope([&] {
    Index each = rows / memories;
    // (B·K, T, D) -> (B, K·T, D): the K rows of a memory are its queries.
    Var queries = each == 1 ? x : reshape(x, {memories, each * t, d_});
    Heads heads(in_proj.heads(),
                head_options_.normed_query(in_proj.heads(queries, InProjection::Query)),
                memory.keys(), memory.values());
    heads.mask = head_options_.mask(heads, request);
    AttentionOutput out = attend_and_join(heads, request);
    if (each == 1) return out;
    out.y = reshape(out.y, {rows, t, d_});
    if (out.weights.defined() && out.weights.rank() == 3) {  // (B, K·T, S) -> (B·K, T, S)
      out.weights = reshape(out.weights, {rows, t, s});
    } else if (out.weights.defined()) {
      // (B, H, K·T, S) -> (B, H, K, T, S) -> (B, K, H, T, S) -> (B·K, H, T, S)
      Var apart = reshape(out.weights, {memories, in_proj.heads(), each, t, s});
      out.weights = reshape(permute(apart, {0, 2, 1, 3, 4}), {rows, in_proj.heads(), t, s});
    }
    return out;
  });
}

}  // namespace glim
