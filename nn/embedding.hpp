// Embedding: y = rows ids of the weight      ids: (...) int64   weight: (V, D)   y: (..., D)
//
// The gradient is in autograd/ops/index.cpp. Rows start from N(0, 1). The row of the
// padding index, if there is one, starts as zeros and gets no gradient here, as in torch.nn.Embedding.
// Its value is read like any other.
//
// Errors: IndexError for an id or a padding index outside [0, V); DTypeError unless ids are int64.
#pragma once

#include <optional>

#include "nn/module.hpp"

namespace glim {

class Embedding : public Callable<Embedding> {
 public:
  Embedding(Index num, Index dim, std::optional<Index> padding_index = std::nullopt);
  std::optional<Index> padding_index() const { return padding_index_; }

  Param weight;

 private:
  friend Callable;
  Var forward(const Tensor& ids);
  std::optional<Index> padding_index_;
};

}  // namespace glim
