#include "nn/feed_forward.hpp"

namespace glim {

Var feed_forward(const Var& x, Linear& linear1, Activation f, Dropout& dropout, Linear& linear2) {
  Var hidden = activate(f, linear1.forward(x));  // (..., D) -> (..., D_ff)
  return linear2.forward(dropout.forward(hidden));
}

Var PositionwiseFeedForward::forward(const Var& x) {
  Scope scope = enter();
  return feed_forward(x, linear1, activation, dropout, linear2);
}

}  // namespace glim
