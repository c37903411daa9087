#include "nn/attention/scored.hpp"

#include "tensor/error.hpp"

namespace glim {

AttentionResult ScoredAttention::attended(const Var& query, const Var& projected, const Var& values,
                                          const Tensor& keep) {
  std::initializer_list<NamedOperand> all{
      {"query", query}, {"keys", projected}, {"values", values}, {"keep", keep}};
  if (query.rank() != 3 || projected.rank() != 3 || values.rank() != 3 ||
      projected.size(0) != query.size(0) || values.size(0) != query.size(0) ||
      projected.size(1) != values.size(1))
    throw ShapeError("attention", "query must be (B, T, Q), keys (B, S, K) and values (B, S, D)",
                     all);
  Index b = query.size(0), t = query.size(1), s = values.size(1);
  Tensor may;
  if (keep.defined()) {
    if (keep.dtype() != DType::Bool) throw DTypeError("attention", "keep must be bool", all);
    if (keep.shape() == Shape{b, s})
      may = unsqueeze(keep, 1);
    else if (keep.shape() == Shape{b, t, s})
      may = keep;
    else
      throw ShapeError("attention", "keep must be (B, S) or (B, T, S)", all);
  }
  Var e = named(scores(query, projected), "scores");
  may = named(may, "keep").value();
  Var probs = named(may.defined() ? masked_softmax(e, may) : softmax(e), "probs");
  return {named(matmul(probs, values), "context"), probs};
}

}  // namespace glim
