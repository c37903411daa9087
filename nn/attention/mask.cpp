#include "nn/attention/mask.hpp"

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

Tensor padding_keep(const Tensor& ids, Index pad) {
  if (ids.rank() != 2 || ids.dtype() != DType::Int64)
    throw with_operands(ShapeError("padding_keep", "needs int64 ids (B, S)"), Operand("ids", ids));
  return not_equal(ids, static_cast<double>(pad)).unsqueeze(1).unsqueeze(1);
}

Tensor causal_keep(Index queries, Index keys, Index offset) {
  Tensor position = arange(static_cast<double>(offset), static_cast<double>(offset + queries));
  Tensor key = arange(0, static_cast<double>(keys));
  return less_equal(key, position.unsqueeze(1)).unsqueeze(0).unsqueeze(0);
}

Tensor decoder_keep(const Tensor& ids, Index pad) {
  return logical_and(padding_keep(ids, pad), causal_keep(ids.size(1)));
}

std::vector<Index> row_lengths(const Tensor& ids, Index pad) {
  if (ids.rank() != 2 || ids.dtype() != DType::Int64)
    throw with_operands(ShapeError("row_lengths", "wants ids (B, S) int64"), Operand("ids", ids));
  auto list = ids.to_vector<Index>();
  Index columns = ids.size(1);
  std::vector<Index> lengths;
  for (Index b = 0; b < ids.size(0); ++b) {
    Index n = columns;
    while (n > 0 && list[b * columns + n - 1] == pad) --n;
    lengths.push_back(n);
  }
  return lengths;
}

}  // namespace glim
