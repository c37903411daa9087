#include "optim/sgd.hpp"

#include <cmath>

#include "tensor/error.hpp"

namespace glim {

Sgd::Sgd(NamedParameters parameters, SgdOptions options)
    : Sgd(std::vector<ParameterGroup>{{std::move(parameters), 1, {}}}, options) {}

Sgd::Sgd(std::vector<ParameterGroup> groups, SgdOptions options)
    : Optimizer(std::move(groups), options.rate, options.weight_decay,
                options.momentum > 0 ? std::vector<std::string>{"momentum_buffer"}
                                     : std::vector<std::string>{}),
      options_(options) {
  if (!(options.momentum >= 0 && options.momentum < 1))
    throw ValueError("sgd", "momentum must lie in [0, 1)");
  if (!std::isfinite(options.dampening)) throw ValueError("sgd", "dampening must be finite");
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    throw ValueError("sgd", "nesterov needs momentum, and no dampening");
}

void Sgd::update(const Slot& slot, Index begin, Index end) const {
  auto run = [&]<class T>(T* w, const T* g) {
    const T rate = static_cast<T>(this->rate() * slot.rate_factor);
    const T decay = static_cast<T>(slot.weight_decay);
    if (options_.momentum == 0) {
      for (Index i = begin; i < end; ++i) w[i] -= rate * (g[i] + decay * w[i]);
      return;
    }
    T* m = slot.state[0].data<T>();
    const T mu = static_cast<T>(slot.step == 1 ? 0 : options_.momentum);
    const T take = static_cast<T>(slot.step == 1 ? 1 : 1 - options_.dampening);
    // d = a g + b m
    const T a = options_.nesterov ? 1 : 0;
    const T b = static_cast<T>(options_.nesterov ? options_.momentum : 1);
    for (Index i = begin; i < end; ++i) {
      T d = g[i] + decay * w[i];
      m[i] = mu * m[i] + take * d;
      w[i] -= rate * (a * d + b * m[i]);
    }
  };
  with_elements(slot.parameter.value(), slot.gradient, run);
}

}  // namespace glim
