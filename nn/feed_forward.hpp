// Position-wise feed-forward network (Vaswani et al. 2017, equation 2), f = ReLU there:
//
//   y = Dropout(f(x W₁ᵀ + b₁)) W₂ᵀ + b₂      x, y: (..., D)   hidden: (..., D_ff)
//
// Gated by a second projection it is SwiGLU with f = SiLU, GEGLU with f = GELU (Shazeer 2020, arXiv 2002.05202, equation 6):
//
//   y = Dropout(f(x W₁ᵀ + b₁) ⊙ (x W₃ᵀ + b₃)) W₂ᵀ + b₂
//
// With two thirds of the hidden width it has as many parameters.
#pragma once

#include "nn/activation.hpp"
#include "nn/dropout.hpp"
#include "nn/linear.hpp"

namespace glim {

enum class FeedForward { Plain, Gated };
template <>
inline const ChoiceNames<FeedForward> kNames<FeedForward>{
    {{"plain", FeedForward::Plain}, {"gated", FeedForward::Gated}}};

// For layers that own the parts under torch's names (linear1, dropout, linear2); gated where there is a linear3.
Var feed_forward(const Var& x, Linear& linear1, Activation f, Dropout& dropout, Linear& linear2,
                 Linear* linear3 = nullptr);

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
