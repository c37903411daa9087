#include "nn/embedding.hpp"

#include "nn/init.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

Embedding::Embedding(Index num, Index dim, std::optional<Index> padding_index)
    : GLIM_NAMED(weight, empty({num, dim})), padding_index_(padding_index) {
  if (padding_index && (*padding_index < 0 || *padding_index >= num))
    throw IndexError("embedding", "the padding index " + std::to_string(*padding_index) +
                                      " lies outside [0, " + std::to_string(num) + ")");
  normal_(weight.value(), 0, 1);
  if (padding_index) select(weight.value(), 0, *padding_index).fill_(0);
}

Var Embedding::forward(const Tensor& ids) {
  Var rows = index_select(weight, 0, ids);  // (...) -> (..., D)
  if (!padding_index_ || !Tape::current()) return rows;
  // Padded positions read the same row as a constant, so nothing flows back into it from them.
  Tensor pad = unsqueeze(equal(ids, static_cast<double>(*padding_index_)), -1);  // (..., 1)
  return where(pad, Var(select(weight.value(), 0, *padding_index_)), rows);
}

}  // namespace glim
