// Numbers of tokens, for gradient checks and tests.
#pragma once

#include "tensor/tensor.hpp"

namespace glim {

// int64, of this shape, row by row.
inline Tensor ids(std::initializer_list<double> list, const Shape& shape) {
  return reshape(tensor(list, DType::Int64), shape);
}

}  // namespace glim
