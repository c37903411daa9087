#include "optim/adam.hpp"

#include <cmath>

#include "tensor/error.hpp"

namespace glim {
namespace {

std::vector<ParameterGroup> one_group(NamedParameters parameters) {
  return {{std::move(parameters), 1, {}}};
}

}  // namespace

Adam::Adam(NamedParameters parameters, AdamOptions options)
    : Adam(one_group(std::move(parameters)), options, false) {}
Adam::Adam(std::vector<ParameterGroup> groups, AdamOptions options)
    : Adam(std::move(groups), options, false) {}
AdamW::AdamW(NamedParameters parameters, AdamOptions options)
    : Adam(one_group(std::move(parameters)), options, true) {}
AdamW::AdamW(std::vector<ParameterGroup> groups, AdamOptions options)
    : Adam(std::move(groups), options, true) {}

Adam::Adam(std::vector<ParameterGroup> groups, AdamOptions options, bool decoupled)
    : Optimizer(std::move(groups), options.rate, options.weight_decay, {"exp_avg", "exp_avg_sq"}),
      options_(options),
      decoupled_(decoupled) {
  auto in_range = [](double beta) { return beta >= 0 && beta < 1; };
  if (!in_range(options.beta1) || !in_range(options.beta2))
    throw ValueError("adam", "the betas must lie in [0, 1)");
  if (!(std::isfinite(options.eps) && options.eps >= 0))
    throw ValueError("adam", "eps must be finite and not negative");
}

void Adam::update(const Slot& slot, Index begin, Index end) const {
  double rate = this->rate() * slot.rate_factor;
  auto t = static_cast<double>(slot.step);
  double correction1 = 1 - std::pow(options_.beta1, t);
  double correction2 = 1 - std::pow(options_.beta2, t);
  auto run = [&]<class T>(T* w, const T* g) {
    T* m = slot.state[0].data<T>();
    T* v = slot.state[1].data<T>();
    const T beta1 = static_cast<T>(options_.beta1), take1 = static_cast<T>(1 - options_.beta1);
    const T beta2 = static_cast<T>(options_.beta2), take2 = static_cast<T>(1 - options_.beta2);
    const T eps = static_cast<T>(options_.eps);
    const T size = static_cast<T>(rate / correction1);
    const T root = static_cast<T>(std::sqrt(correction2));
    const T couple = static_cast<T>(decoupled_ ? 0 : slot.weight_decay);
    const T keep = static_cast<T>(decoupled_ ? 1 - rate * slot.weight_decay : 1);
    for (Index i = begin; i < end; ++i) {
      T d = g[i] + couple * w[i];
      T mean = beta1 * m[i] + take1 * d;
      T square = beta2 * v[i] + take2 * d * d;
      m[i] = mean;
      v[i] = square;
      w[i] = keep * w[i] - size * mean / (std::sqrt(square) / root + eps);
    }
  };
  with_elements(slot.parameter.value(), slot.gradient, run);
}

}  // namespace glim
