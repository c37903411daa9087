#include "optim/sgd.hpp"

#include "tensor/error.hpp"

namespace glim {

Sgd::Sgd(const NamedParameters& parameters, SgdOptions options)
    : Optimizer(parameters, options.rate, {options.weight_decay},
                options.momentum > 0 ? std::vector<std::string>{"momentum_buffer"}
                                     : std::vector<std::string>{}),
      options_(options) {
  auto require_share = [&](const char* what, double x) {
    if (!(x >= 0 && x < 1)) throw ValueError("sgd", std::string(what) + " must be in [0, 1)");
    require_in_dtypes(what, x);
  };
  require_share("momentum", options.momentum);
  require_share("dampening", options.dampening);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    throw ValueError("sgd", "nesterov needs momentum, and no dampening");
}

void Sgd::update(const Slot& slot, Index begin, Index end) const {
  visit_floating(slot.dtype, [&]<class T>() {
    T* theta = slot.parameter.value().data<T>();
    const T* gradient = slot.gradient.data<T>();
    const T eta = static_cast<T>(rate());
    const T lambda = static_cast<T>(slot.weight_decay), mu = static_cast<T>(options_.momentum);
    // m ← keep m + take g
    const T keep = slot.step == 1 ? 0 : mu;
    const T take = static_cast<T>(slot.step == 1 ? 1 : 1 - options_.dampening);
    T* m = options_.momentum > 0 ? slot.state[0].data<T>() : nullptr;
    for (Index i = begin; i < end; ++i) {
      T g = gradient[i] + lambda * theta[i];
      if (m) {
        m[i] = keep * m[i] + take * g;
        g = options_.nesterov ? g + mu * m[i] : m[i];
      }
      theta[i] -= eta * g;
    }
  });
}

}  // namespace glim
