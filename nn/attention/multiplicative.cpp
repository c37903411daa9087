#include "nn/attention/multiplicative.hpp"

#include "tensor/error.hpp"

namespace glim {

std::string_view name_of(LuongScore score) {
  return score == LuongScore::Dot ? "dot" : score == LuongScore::General ? "general" : "concat";
}

MultiplicativeAttention::MultiplicativeAttention(LuongScore score, Index query_size, Index key_size,
                                                 Index width)
    : score_(score) {
  if (query_size < 1 || key_size < 1 || width < 0)
    throw ValueError("multiplicative_attention", "the sizes must be positive");
  if (score == LuongScore::Dot && query_size != key_size)
    throw ValueError("multiplicative_attention",
                     "a dot product needs queries and keys of one size, not " +
                         std::to_string(query_size) + " and " + std::to_string(key_size));
  if (score == LuongScore::General) key = &child<Linear>("key", key_size, query_size, false);
  if (score == LuongScore::Concat) {
    if (width == 0) width = query_size;
    query = &child<Linear>("query", query_size, width, false);
    key = &child<Linear>("key", key_size, width, false);
    v = &child<Linear>("v", width, 1, false);
  }
}

Var MultiplicativeAttention::project(const Var& keys) {
  Scope scope = enter();
  return key ? key->forward(keys) : keys;
}

Var MultiplicativeAttention::scores(const Var& q, const Var& projected) {
  if (score_ == LuongScore::Concat)
    return additive_scores(query->forward(q), projected, reshape(v->weight, {-1}));
  return matmul(q, transpose(projected));  // (B, T, Q) (B, Q, S) -> (B, T, S)
}

}  // namespace glim
