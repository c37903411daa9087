#include "nn/attention/multiplicative.hpp"

#include "tensor/error.hpp"

namespace glim {

MultiplicativeAttention::MultiplicativeAttention(LuongScore score, Index query_size, Index key_size,
                                                 Index width)
    : score_(score) {
  if (query_size < 1 || key_size < 1 || width < 0)
    throw ValueError("multiplicative_attention", "the sizes must be positive");
  if (score == LuongScore::Dot && query_size != key_size)
    throw ValueError("multiplicative_attention",
                     "a dot product needs queries and keys of one size, not " +
                         std::to_string(query_size) + " and " + std::to_string(key_size));
  auto linear = [&](std::string_view name, Index in, Index out) {
    return ChildPtr<Linear>(*this, name, std::make_unique<Linear>(in, out, false));
  };
  if (score == LuongScore::General) key = linear("key", key_size, query_size);
  if (score == LuongScore::Concat) {
    if (width == 0) width = query_size;
    query = linear("query", query_size, width);
    key = linear("key", key_size, width);
    v = linear("v", width, 1);
  }
}

Var MultiplicativeAttention::projection(const Var& keys) { return key ? key(keys) : keys; }

Var MultiplicativeAttention::scores(const Var& q, const Var& projected) {
  if (score_ == LuongScore::Concat)
    return additive_scores(query(q), projected,
                           v->in_scope([&] { return reshape(v->weight, {-1}); }));
  return matmul(q, transpose(projected));  // (B, T, Q) (B, Q, S) -> (B, T, S)
}

}  // namespace glim
