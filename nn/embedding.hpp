// Embedding: y = rows ids of the weight      ids: (...) int64   weight: (V, D)   y: (..., D)
//
//   dweight = zeros, row ids[i] += dy[i]
//
// Rows start from N(0, 1). With a padding index that row starts as zeros and receives no gradient
// from here, as in torch.nn.Embedding; its value is read like any other's.
//
// Errors: IndexError for an id outside [0, V) or a padding index outside [-1, V); DTypeError
// unless ids are int64.
#pragma once

#include "nn/module.hpp"

namespace glim {

class Embedding final : public Module {
 public:
  Embedding(Index num, Index dim, Index padding_index = -1);  // -1: none
  Var forward(const Tensor& ids);
  Var operator()(const Tensor& ids) { return forward(ids); }
  Index padding_index() const { return padding_index_; }

  Var& weight;

 private:
  Index padding_index_;
};

}  // namespace glim
