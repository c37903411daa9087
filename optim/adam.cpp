#include "optim/adam.hpp"

#include <cmath>

#include "optim/kernels/adam.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/portable.hpp"

namespace glim {
namespace {

// 1 - β₁ᵗ and 1 - β₂ᵗ. Parameters that are updated together mostly share t, and a power takes as long as 100
// elements.
struct Corrections {
  double first, second;
};
Corrections corrections(const AdamOptions& o, double t) {
  thread_local double beta1 = -1, beta2 = -1, step = 0;
  thread_local Corrections last{};
  if (o.beta1 != beta1 || o.beta2 != beta2 || t != step) {
    last = {1 - portable::pow(o.beta1, t), 1 - portable::pow(o.beta2, t)};
    beta1 = o.beta1, beta2 = o.beta2, step = t;
  }
  return last;
}

}  // namespace

Adam::Adam(const NamedParameters& parameters, AdamOptions options, bool decoupled)
    : Optimizer(parameters, options.rate, {options.weight_decay, options.decay_matrices_only},
                {"exp_avg", "exp_avg_sq"}),
      options_(options),
      decoupled_(decoupled) {
  auto in_range = [](double beta) { return beta >= 0 && beta < 1; };
  if (!in_range(options.beta1) || !in_range(options.beta2))
    throw ValueError("adam", "the betas must be in [0, 1)");
  require_in_dtypes("beta1", options.beta1);
  require_in_dtypes("beta2", options.beta2);
  if (!(std::isfinite(options.eps) && options.eps >= 0))
    throw ValueError("adam", "eps must be finite and not negative");
  require_in_dtypes("eps", options.eps);
}

void Adam::update(const Slot& slot, Index begin, Index end) const {
  Corrections correction = corrections(options_, static_cast<double>(slot.step));
  visit_floating(slot.dtype, [&]<class T>() {
    auto data = [&](const Tensor& x) { return x.data<T>() + begin; };
    auto rounded = [](double x) { return static_cast<T>(x); };
    AdamStep<T> step{.eta = rounded(rate()),
                     .beta1 = rounded(options_.beta1),
                     .beta2 = rounded(options_.beta2),
                     .eps = rounded(options_.eps),
                     .one_minus_beta1 = rounded(1 - options_.beta1),
                     .one_minus_beta2 = rounded(1 - options_.beta2),
                     .unbias1 = rounded(1 / correction.first),
                     .unbias2 = rounded(1 / correction.second),
                     .lambda = rounded(decoupled_ ? 0 : slot.weight_decay),
                     .lambda_decoupled = rounded(decoupled_ ? slot.weight_decay : 0)};
    dispatch<simd::adam<T>>(step, end - begin, data(slot.parameter.value()), data(slot.gradient),
                            data(slot.state[0]), data(slot.state[1]));
  });
}

Optimizer::Adjoint Adam::transposed(const Slot& slot, const Adjoint& after) const {
  const double beta1 = options_.beta1, beta2 = options_.beta2, eta = rate();
  const double lambda = decoupled_ ? 0 : slot.weight_decay;
  const Corrections correction = corrections(options_, static_cast<double>(slot.step));
  const Tensor g = slot.gradient + lambda * slot.parameter.value();
  const Tensor m_hat = div(beta1 * slot.state[0] + (1 - beta1) * g, correction.first);
  const Tensor root = sqrt(div(beta2 * slot.state[1] + (1 - beta2) * (g * g), correction.second));
  const Tensor r = root + options_.eps, zero = scalar(0, slot.dtype);
  const Tensor& dtheta = after.parameter;
  const Tensor dm = after.state[0] + (-eta / correction.first) * (dtheta / r);
  const Tensor through = where(equal(root, 0), zero, m_hat * dtheta / (root * r * r));
  const Tensor dv = after.state[1] + (eta / (2 * correction.second)) * through;
  const Tensor dg = (1 - beta1) * dm + (2 * (1 - beta2)) * (g * dv);
  const double kept = decoupled_ ? 1 - eta * slot.weight_decay : 1;
  return {kept * dtheta + lambda * dg, {beta1 * dm, beta2 * dv}, dg};
}

Tensor Adam::divisor(const Slot& slot) const {
  const Corrections correction = corrections(options_, static_cast<double>(slot.step));
  return sqrt(div(slot.state[1], correction.second)) + options_.eps;
}

}  // namespace glim
