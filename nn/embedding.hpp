// Embedding: y = rows ids of the weight      ids: (...) int64   weight: (V, D)   y: (..., D)
//
// The gradient is in autograd/ops/index.cpp. Rows start from N(0, 1).
//
// Errors: IndexError for an id outside [0, V); DTypeError unless ids are int64.
#pragma once

#include "nn/module.hpp"

namespace glim {

class Embedding : public Callable<Embedding> {
 public:
  Embedding(Index num, Index dim);

  Param weight;

  Var forward(const Tensor& ids);  // (...) -> (..., D)
};

}  // namespace glim
