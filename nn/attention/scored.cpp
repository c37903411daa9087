#include "nn/attention/scored.hpp"

#include "tensor/error.hpp"

namespace glim {

AttentionResult ScoredAttention::attended(const Var& query, const Var& projected, const Var& values,
                                          const Tensor& keep) {
  auto operands = [&](auto error) {
    return with_operands(std::move(error), Operand("query", query.value()),
                         Operand("keys", projected.value()), Operand("values", values.value()),
                         Operand("keep", keep));
  };
  if (query.rank() != 3 || projected.rank() != 3 || values.rank() != 3 ||
      projected.size(0) != query.size(0) || values.size(0) != query.size(0) ||
      projected.size(1) != values.size(1))
    throw operands(
        ShapeError("attention", "query must be (B, T, Q), keys (B, S, K) and values (B, S, D)"));
  Index b = query.size(0), t = query.size(1), s = values.size(1);
  Tensor may;
  if (keep.defined()) {
    if (keep.dtype() != DType::Bool) throw operands(DTypeError("attention", "keep must be bool"));
    if (keep.shape() == Shape{b, s})
      may = unsqueeze(keep, 1);
    else if (keep.shape() == Shape{b, t, s})
      may = keep;
    else
      throw operands(ShapeError("attention", "keep must be (B, S) or (B, T, S)"));
  }
  Var e = named(scores(query, projected), "scores");
  Var probs = named(may.defined() ? masked_softmax(e, may) : softmax(e), "probs");
  return {named(matmul(probs, values), "context"), probs};
}

}  // namespace glim
