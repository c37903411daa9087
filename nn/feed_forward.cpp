#include "nn/feed_forward.hpp"

#include "autograd/op_form.hpp"

namespace glim {

Var feed_forward(const Var& x, Linear& linear1, Activation f, Dropout& dropout, Linear& linear2,
                 Linear* linear3) {
  // (..., D) -> (..., D_ff) -> (..., D)
  if (linear3) {
    Var gate = activate(f, linear1(x));
    return linear2(dropout(gate * (*linear3)(x)));
  }
  if (f == Activation::Relu && op_form() == OpForm::Fused)
    return linear2(linear1.relu_dropout(x, dropout));
  return linear2(dropout(activate(f, linear1(x))));
}

}  // namespace glim
