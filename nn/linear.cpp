#include "nn/linear.hpp"

#include <cmath>

#include "nn/init.hpp"

namespace glim {

Linear::Linear(Index in, Index out, bool with_bias)
    : GLIM_NAMED(weight, empty({out, in})), GLIM_NAMED(bias, with_bias ? empty({out}) : Tensor()) {
  kaiming_uniform_(weight.value(), std::sqrt(5.0));
  double bound = in > 0 ? 1 / std::sqrt(static_cast<double>(in)) : 0;
  if (with_bias) uniform_(bias.value(), -bound, bound);
}

void zero_biases(Module& module) {
  if (auto* layer = dynamic_cast<Linear*>(&module); layer && layer->bias.defined())
    layer->bias.value().fill_(0);
  for (auto& [name, child] : module.children()) zero_biases(*child);
}

Var Linear::forward(const Var& x) { return linear(x, weight, bias); }

Var Linear::relu_dropout(const Var& x, const Dropout& dropout) {
  double p = dropout.training() ? dropout.p() : 0;
  return in_scope(
      [&] { return linear_relu(x, weight, bias, p, p > 0 ? generator().next() : RandomKey{}); });
}

}  // namespace glim
