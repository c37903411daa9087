#include "optim/adam.hpp"

#include <cmath>

#include "tensor/error.hpp"
#include "tensor/simd/kernels.hpp"

namespace glim {
namespace {

std::vector<ParameterGroup> one_group(NamedParameters parameters) {
  return {{std::move(parameters), 1, {}}};
}

// 1 - β₁ᵗ and 1 - β₂ᵗ; parameters that are updated together mostly have one t.
struct Corrections {
  double first, second;
};
Corrections corrections(const AdamOptions& o, double t) {
  thread_local double beta1 = -1, beta2 = -1, at = 0;
  thread_local Corrections last{};
  if (o.beta1 != beta1 || o.beta2 != beta2 || t != at) {
    last = {1 - std::pow(o.beta1, t), 1 - std::pow(o.beta2, t)};
    beta1 = o.beta1, beta2 = o.beta2, at = t;
  }
  return last;
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
  Corrections correction = corrections(options_, static_cast<double>(slot.step));
  auto run = [&]<class T>(T* w, const T* g) {
    AdamStep<T> step{.beta1 = static_cast<T>(options_.beta1),
                     .take1 = static_cast<T>(1 - options_.beta1),
                     .beta2 = static_cast<T>(options_.beta2),
                     .take2 = static_cast<T>(1 - options_.beta2),
                     .eps = static_cast<T>(options_.eps),
                     .size = static_cast<T>(rate / correction.first),
                     .root = static_cast<T>(std::sqrt(correction.second)),
                     .couple = static_cast<T>(decoupled_ ? 0 : slot.weight_decay),
                     .keep = static_cast<T>(decoupled_ ? 1 - rate * slot.weight_decay : 1)};
    row_kernels<T>().adam(step, end - begin, w + begin, g + begin, slot.state[0].data<T>() + begin,
                          slot.state[1].data<T>() + begin);
  };
  with_elements(slot.parameter.value(), slot.gradient, run);
}

}  // namespace glim
