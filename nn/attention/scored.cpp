#include "nn/attention/scored.hpp"

#include "tensor/error.hpp"

namespace glim {

ScoredAttention::ScoredAttention(AttentionScore score, Index query_size, Index key_size,
                                 Index width) {
  if (query_size < 1 || key_size < 1 || width < 0)
    throw ValueError("attention", "the sizes must be positive");
  if (score == AttentionScore::Dot && query_size != key_size)
    throw ValueError("attention", "a dot product needs queries and keys of one size, not " +
                                      std::to_string(query_size) + " and " +
                                      std::to_string(key_size));
  if (score == AttentionScore::None) throw ValueError("attention", "'none' is no score");
  if (score == AttentionScore::Dot) return;
  auto linear = [&](std::string_view name, Index in, Index out, bool bias = false) {
    return Child<std::unique_ptr<Linear>>(*this, name, std::make_unique<Linear>(in, out, bias));
  };
  const bool general = score == AttentionScore::General;
  if (width == 0 || general) width = query_size;
  if (!general) query = linear("query", query_size, width);
  key = linear("key", key_size, width, score == AttentionScore::Additive);
  if (!general) v = linear("v", width, 1);
}

Var ScoredAttention::project(const Var& keys) {
  return in_scope([&] { return key ? key(keys) : keys; });
}

AttentionResult ScoredAttention::attend(const Var& q, const Var& projected, const Var& values,
                                        const Tensor& keep) {
  return in_scope([&]() -> AttentionResult {
    std::initializer_list<NamedOperand> all{
        {"query", q}, {"keys", projected}, {"values", values}, {"keep", keep}};
    if (q.rank() != 3 || projected.rank() != 3 || values.rank() != 3 ||
        projected.size(0) != q.size(0) || values.size(0) != q.size(0) ||
        projected.size(1) != values.size(1))
      throw ShapeError("attention", "query must be (B, T, Q), keys (B, S, K) and values (B, S, D)",
                       all);
    Index b = q.size(0), t = q.size(1), s = values.size(1);
    if (keep.defined() && keep.dtype() != DType::Bool)
      throw DTypeError("attention", "keep must be bool", all);
    if (keep.defined() && keep.shape() != Shape{b, s} && keep.shape() != Shape{b, t, s})
      throw ShapeError("attention", "keep must be (B, S) or (B, T, S)", all);
    Tensor may =
        named(keep.defined() && keep.rank() == 2 ? unsqueeze(keep, 1) : keep, "keep").value();
    Var weights = v ? v->in_scope([&] { return reshape(v->weight, {-1}); }) : Var();
    Var e = v ? additive_scores(query(q), projected, weights)
              : matmul(q, transpose(projected));  // (B, T, Q) (B, Q, S) -> (B, T, S)
    e = named(e, "scores");
    Var probs = named(may.defined() ? masked_softmax(e, may) : softmax(e), "probs");
    return {named(matmul(probs, values), "context"), probs};
  });
}

}  // namespace glim
