// Adam (Kingma & Ba 2015, algorithm 1) and AdamW (Loshchilov & Hutter 2019, algorithm 2), as in
// torch.optim. Per element, with rate η at the t-th update of the parameter, t from 1:
//
//   Adam    g ← g + λ θ                 AdamW   θ ← θ - η λ θ
//   m ← β₁ m + (1 - β₁) g               the state exp_avg
//   v ← β₂ v + (1 - β₂) g²              the state exp_avg_sq
//   θ ← θ - η m̂ / (√v̂ + ε)              where m̂ = m/(1 - β₁ᵗ), v̂ = v/(1 - β₂ᵗ)
//
// optim/kernels/adam.cpp is this step as code, line by line.
// With ε = 0 an element whose gradients were all 0 becomes 0/0, NaN, as in torch.
// The Transformer of 2017 takes β = (0.9, 0.98), ε = 1e-9 (section 5.3): Adam::transformer.
// ValueError for β outside [0, 1) or a negative ε, in the dtype of the parameters too.
#pragma once

#include "optim/optimizer.hpp"

namespace glim {

struct AdamOptions {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decay_matrices_only = false;  // no decay of biases and norms (rank below 2)
};

class Adam : public Optimizer {
 public:
  explicit Adam(const NamedParameters& parameters, AdamOptions options = {})
      : Adam(parameters, options, false) {}

  static AdamOptions transformer() { return {.beta2 = 0.98, .eps = 1e-9}; }

 protected:
  Adam(const NamedParameters& parameters, AdamOptions options, bool decoupled);
  // The transpose of a step, from ∂q/∂ after it to before it (dθ is ∂q/∂θ), with r = √v̂ + ε:
  //
  //   dm ← dm - η/(1 - β₁ᵗ) dθ/r
  //   dv ← dv + η/(1 - β₂ᵗ) m̂ dθ/(2 √v̂ r²)            0 where v is 0, as g is but for underflow
  //   dg = (1 - β₁) dm + 2 (1 - β₂) g dv
  //   dθ ← dθ + λ dg              AdamW   (1 - η λ) dθ
  //   dm ← β₁ dm    dv ← β₂ dv
  Adjoint transposed(const Slot& slot, const Adjoint& after) const override;

 private:
  void update(const Slot& slot, Index begin, Index end) const override;
  Tensor divisor(const Slot& slot) const override;
  // Steps are stable below η λ_max(P⁻¹H) = 2 (1 + β₁)/(1 - β₁), 38 for β₁ = 0.9, with P = √v̂ + ε.
  double threshold() const override { return 2 * (1 + options_.beta1) / (1 - options_.beta1); }
  AdamOptions options_;
  bool decoupled_;
};

class AdamW final : public Adam {
 public:
  static AdamOptions defaults() { return {.weight_decay = 0.01}; }
  explicit AdamW(const NamedParameters& parameters, AdamOptions options = defaults())
      : Adam(parameters, options, true) {}
};

}  // namespace glim
