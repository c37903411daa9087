#include "nn/attention/multihead.hpp"

namespace glim {

// y = join(attention(split(Q W^Q), split(K W^K), split(V W^V))) W^O
AttentionOutput MultiheadAttention::attention(const Var& query, const Var& key, const Var& value,
                                              const AttentionRequest& request) {
  check(query, key, value);
  Var q = split_heads(project(query, Query));  // (B, T, D) -> (B, H, T, Dh)
  Var k = split_heads(project(key, Key));
  Var v = split_heads(project(value, Value));
  return attend_heads(rotated(q), rotated(k), v, request);
}

AttentionOutput MultiheadAttention::attend_heads(const Var& query, Var key, Var value,
                                                 const AttentionRequest& request, Index offset) {
  AttentionMask masked = mask(request, query.size(0), query.size(2), key.size(2), offset);
  append_keys(key, value, masked);
  AttentionResult a = scaled_dot_product_attention(
      named(query, "query"), named(key, "key"), named(value, "value"), masked, dropout(),
      dropout() > 0 ? generator().next() : RandomKey{}, request.need_weights);
  a.context = join_heads(a.context);  // (B, H, T, Dh) -> (B, T, D)
  return project_out(a, request);
}

AttentionOutput MultiheadAttention::project_out(const AttentionResult& a,
                                                const AttentionRequest& request) {
  AttentionOutput out{out_proj(a.context), {}};
  if (request.need_weights) out.weights = request.average_weights ? mean(a.probs, {1}) : a.probs;
  return out;
}

// x W_partᵀ + b_part
Var MultiheadAttention::project(const Var& x, Part part) const {
  Var bias = options_.bias ? slice(in_proj_bias_, 0, begin(part), begin(part) + d_) : Var();
  return linear(x, weight(part), bias);
}

Var MultiheadAttention::weight(Part part) const {
  if (in_proj_weight.defined()) return slice(in_proj_weight, 0, begin(part), begin(part) + d_);
  return part == Query ? q_proj_weight_ : part == Key ? k_proj_weight_ : v_proj_weight_;
}

Var MultiheadAttention::split_heads(const Var& x) const {
  // (B, T, D) -> (B, T, H, Dh) -> (B, H, T, Dh)
  return permute(reshape(x, {x.size(0), x.size(1), h_, d_ / h_}), {0, 2, 1, 3});
}

Var MultiheadAttention::join_heads(const Var& x) const {
  // (B, H, T, Dh) -> (B, T, H, Dh) -> (B, T, D)
  return reshape(permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), d_});
}

}  // namespace glim
