// Linear: y = x Wᵀ + b      x: (..., in)   weight: (out, in)   bias: (out,)   y: (..., out)
//
//   dx = dy W      dW = dyᵀ x      db = Σ dy over the leading axes
//
// Initial values are torch.nn.Linear's: both uniform on ±1/√in (kaiming_uniform with slope √5).
// ShapeError where x has another number of columns.
#pragma once

#include "nn/dropout.hpp"

namespace glim {

class Linear final : public Layer {
 public:
  Linear(Index in, Index out, bool bias = true);
  Var forward(const Var& x) override;
  // dropout(max(0, forward(x))) as one op, p = 0 outside training.
  Var forward_relu(const Var& x, const Dropout& dropout);

  Var& weight;
  Var bias;  // undefined without
};

}  // namespace glim
