#include "optim/averaging.hpp"

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

StateDict average(const std::vector<StateDict>& states) {
  if (states.empty()) throw ValueError("average", "there is nothing to average");
  const StateDict& last = states.back();
  for (const StateDict& state : states) {
    for (const auto& [name, tensor] : state)
      if (!last.count(name)) throw ValueError("average", name + " is not in every state");
    for (const auto& [name, tensor] : last) {
      auto entry = state.find(name);
      if (entry == state.end()) throw ValueError("average", name + " is not in every state");
      NamedOperand a("one", entry->second), b("last", tensor);
      if (entry->second.shape() != tensor.shape())
        throw ShapeError("average", "the shapes of " + name + " differ", {a, b});
      if (entry->second.dtype() != tensor.dtype())
        throw DTypeError("average", "the dtypes of " + name + " differ", {a, b});
    }
  }
  StateDict mean;
  for (const auto& [name, tensor] : last) {
    if (!is_floating(tensor.dtype())) {
      mean[name] = tensor.clone();
      continue;
    }
    Tensor total = zeros(tensor.shape(), DType::Float64);
    for (const StateDict& state : states) add_(total, state.at(name).to(DType::Float64));
    mean[name] = div(total, static_cast<double>(states.size())).to(tensor.dtype());
  }
  return mean;
}

}  // namespace glim
