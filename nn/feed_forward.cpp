#include "nn/feed_forward.hpp"

#include "autograd/magnification.hpp"

namespace glim {

Var feed_forward(const Var& x, Linear& linear1, Activation f, Dropout& dropout, Linear& linear2) {
  // (..., D) -> (..., D_ff) -> (..., D)
  if (f == Activation::Relu && magnification() == Magnification::Fused)
    return linear2(linear1.relu_dropout(x, dropout));
  return linear2(dropout(activate(f, linear1(x))));
}

}  // namespace glim
