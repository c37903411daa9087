#include "nn/attention/additive.hpp"

#include "tensor/error.hpp"

namespace glim {
namespace {

Index positive(Index size) {
  if (size < 1) throw ValueError("additive_attention", "the sizes must be positive");
  return size;
}

}  // namespace

AdditiveAttention::AdditiveAttention(Index query_size, Index key_size, Index width)
    : GLIM_NAMED(query, positive(query_size), positive(width), false),
      GLIM_NAMED(key, positive(key_size), width),
      GLIM_NAMED(v, width, 1, false) {}

Var AdditiveAttention::projection(const Var& keys) { return key(keys); }

Var AdditiveAttention::scores(const Var& q, const Var& projected) {
  return additive_scores(query(q), projected, v.in_scope([&] { return reshape(v.weight, {-1}); }));
}

}  // namespace glim
