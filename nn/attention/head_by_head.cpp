// Multi-head attention as the paper writes it: H heads of their own, then concatenated.
#include "nn/attention/multihead.hpp"

namespace glim {

Var MultiheadAttention::head_by_head(const Var& query, const Var& key, const Var& value,
                                     const AttentionRequest& request) {
  if (bias_k_.defined() || options_.add_zero_attn || dropout() > 0)
    throw ValueError("attention", "head_by_head takes neither appended keys nor dropout");
  Index dh = d_ / h_;
  auto head_part = [&](const Var& x, Part part, Index head) {
    Index first = head * dh;
    Var bias = options_.bias
                   ? slice(in_proj_bias_, 0, begin(part) + first, begin(part) + first + dh)
                   : Var();
    return linear(x, slice(weight(part), 0, first, first + dh), bias);  // (B, T, Dh)
  };
  return in_scope([&] {
    check(query, key, value);
    AttentionMask all = mask(request, query.size(0), query.size(1), key.size(1));
    std::vector<Var> contexts;
    for (Index head = 0; head < h_; ++head) {
      AttentionMask own;  // (B or 1, H or 1, T, S) -> (B or 1, T, S)
      if (all.keep.defined()) own.keep = select(all.keep, 1, all.keep.size(1) == 1 ? 0 : head);
      if (all.bias.defined()) own.bias = select(all.bias, 1, all.bias.size(1) == 1 ? 0 : head);
      Var q = rotated(head_part(query, Query, head)), k = rotated(head_part(key, Key, head));
      Var v = head_part(value, Value, head);
      contexts.push_back(scaled_dot_product_attention(q, k, v, own).context);
    }
    return out_proj(concatenate(contexts, -1));
  });
}

}  // namespace glim
