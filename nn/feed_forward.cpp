#include "nn/feed_forward.hpp"

#include "autograd/magnification.hpp"

namespace glim {

Var feed_forward(const Var& x, Linear& linear1, Activation f, Dropout& dropout, Linear& linear2) {
  // (..., D) -> (..., D_ff) -> (..., D)
  if (f == Activation::Relu && magnification() == Magnification::Fused)
    return linear2.forward(linear1.forward_relu(x, dropout));
  return linear2.forward(dropout.forward(activate(f, linear1.forward(x))));
}

Var PositionwiseFeedForward::forward(const Var& x) {
  Scope scope = enter();
  return feed_forward(x, linear1, activation, dropout, linear2);
}

}  // namespace glim
