#include "nn/embedding.hpp"

#include "nn/init.hpp"
#include "tensor/ops/index.hpp"

namespace glim {

Embedding::Embedding(Index num, Index dim) : GLIM_NAMED(weight, empty({num, dim})) {
  normal_(weight.value(), 0, 1);
}

Var Embedding::forward(const Tensor& ids) {
  require_indices("embedding", ids, weight.size(0), "id");
  return index_select(weight, 0, ids);
}

}  // namespace glim
