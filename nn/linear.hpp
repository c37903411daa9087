// Linear: y = x Wᵀ + b      x: (..., in)   weight W: (out, in)   bias b: (out,)   y: (..., out)
//
// The gradient is in autograd/ops/linear.cpp. Initial values are torch.nn.Linear's: both uniform
// on ±1/√in (kaiming_uniform with slope √5). ShapeError where x has another number of columns.
#pragma once

#include "nn/dropout.hpp"

namespace glim {

class Linear : public Layer {
  Var forward(const Var& x) override;

 public:
  Linear(Index in, Index out, bool with_bias = true);
  // dropout(max(0, y)) as one op, p = 0 outside training.
  Var relu_dropout(const Var& x, const Dropout& dropout);

  Param weight, bias;
};

// Writes 0 into the biases of the Linear layers of a module and below.
void zero_biases(Module& module);

}  // namespace glim
