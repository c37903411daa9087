// Position-wise feed-forward network (Vaswani et al. 2017, equation 2), f = ReLU there:
//
//   y = Dropout(f(x W₁ᵀ + b₁)) W₂ᵀ + b₂      x, y: (..., D)   hidden: (..., D_ff)
#pragma once

#include "nn/activation.hpp"
#include "nn/dropout.hpp"
#include "nn/linear.hpp"

namespace glim {

// For layers that own the parts under torch's names (linear1, dropout, linear2).
Var feed_forward(const Var& x, Linear& linear1, Activation f, Dropout& dropout, Linear& linear2);

class PositionwiseFeedForward : public Layer {
 public:
  PositionwiseFeedForward(Index d, Index d_ff, double p = 0.1, Activation f = Activation::Relu)
      : GLIM_NAMED(linear1, d, d_ff),
        GLIM_NAMED(dropout, p),
        GLIM_NAMED(linear2, d_ff, d),
        activation(f) {}

  Child<Linear> linear1;
  Child<Dropout> dropout;
  Child<Linear> linear2;
  Activation activation;

 private:
  Var forward(const Var& x) override {
    return feed_forward(x, linear1, activation, dropout, linear2);
  }
};

}  // namespace glim
