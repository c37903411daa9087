#include "optim/sgd.hpp"

#include "optim/kernels/sgd.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

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
  const bool first = slot.step == 1;
  visit_floating(slot.dtype, [&]<class T>() {
    auto data = [&](const Tensor& x) { return x.data<T>() + begin; };
    auto rounded = [](double x) { return static_cast<T>(x); };
    SgdStep<T> step{.eta = rounded(rate()),
                    .lambda = rounded(slot.weight_decay),
                    .mu = rounded(options_.momentum),
                    .keep = rounded(first ? 0 : options_.momentum),
                    .take = rounded(first ? 1 : 1 - options_.dampening),
                    .nesterov = options_.nesterov};
    dispatch<simd::sgd<T>>(step, end - begin, data(slot.parameter.value()), data(slot.gradient),
                           options_.momentum > 0 ? data(slot.state[0]) : nullptr);
  });
}

Optimizer::Adjoint Sgd::transposed(const Slot& slot, const Adjoint& after) const {
  const Tensor du = -rate() * after.parameter;
  const double lambda = slot.weight_decay, mu = options_.momentum;
  if (mu == 0) return {after.parameter + lambda * du, {}, du};
  const bool first = slot.step == 1;
  const Tensor dm = after.state[0] + (options_.nesterov ? mu : 1) * du;
  Tensor dg = (first ? 1 : 1 - options_.dampening) * dm;
  if (options_.nesterov) dg = dg + du;
  return {after.parameter + lambda * dg, {(first ? 0 : mu) * dm}, dg};
}

}  // namespace glim
