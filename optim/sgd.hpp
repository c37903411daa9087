// Stochastic gradient descent with momentum, as torch.optim.SGD. Per element, with rate η:
//
//   g ← g + λ θ                         weight decay λ
//   m ← g at the first step, later      μ m + (1 - dampening) g
//   g ← g + μ m with nesterov, else m   (without momentum: g)
//   θ ← θ - η g
//
// Its transpose, from ∂q/∂ after the step to before it (dθ is ∂q/∂θ), du of what is subtracted:
//
//   du = -η dθ        dm ← dm + du, with nesterov dm + μ du
//   dg = (1 - dampening) dm, at the first step dm; with nesterov + du        (without momentum: du)
//   dθ ← dθ + λ dg    dm ← μ dm, at the first step 0
//
// Polyak 1964; Sutskever et al. 2013, section 2, for nesterov. State: momentum_buffer.
// ValueError for momentum or dampening outside [0, 1), in the dtype of the parameters too, and for nesterov without momentum or with dampening.
#pragma once

#include "optim/optimizer.hpp"

namespace glim {

struct SgdOptions {
  double rate = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const NamedParameters& parameters, SgdOptions options = {});

 private:
  void update(const Slot& slot, Index begin, Index end) const override;
  Adjoint transposed(const Slot& slot, const Adjoint& after) const override;
  Tensor divisor(const Slot&) const override { return {}; }
  // Of θ' = θ - η g with momentum, the roots of z² - (1 + μ - ηλ) z + μ leave the circle at ηλ = 2 (1 + μ).
  double threshold() const override {
    const double mu = options_.momentum;
    return 2 * (1 + mu) / (options_.nesterov ? 1 + 2 * mu : 1 - options_.dampening);
  }
  SgdOptions options_;
};

}  // namespace glim
