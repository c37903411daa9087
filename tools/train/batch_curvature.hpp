// The curvature of the loss of an update's batch, before the update (autograd/curvature.hpp).
//
//   λ      the largest eigenvalue of H, the Hessian of the batch's loss, with the update's own dropout
//   ηλ_P   η times that of P⁻¹H: P = 1 for sgd, √v̂ + ε for Adam. Steps overshoot above the optimizer's threshold:
//          2 (1 + μ) for sgd with momentum μ, 2 (1 + β₁)/(1 - β₁) for Adam (Optimizer::stability)
//
// Each takes at most 15 products with H: Lanczos' method ends when the residual is 1e-2 of the largest eigenvalue by size.
// Memory is that of the whole batch and of its recorded gradient, and 15 vectors of float64.
// Weights, gradients, buffers and random numbers stay as they are.
#pragma once

#include <string>
#include <vector>

#include "tools/measure/attention_statistics.hpp"
#include "tools/train/trainer.hpp"

namespace glim {

struct BatchCurvature {
  // All are NaN if a product is not finite. The last two are NaN before Adam's first update, and for an optimizer that
  // states no threshold.
  double largest = kNan, stepped = kNan, threshold = kNan;
};
// The curvature of the update of parts first … end - 1 (TrainObserver::drawn), after their backward.
BatchCurvature curvature_of_update(Trainer& trainer, Index first, Index end);

// The ops of the model's loss that have kinks, which H takes for straight lines: "relu". ValueError naming
// --record-curvature for rounded products, and for a loss that cannot be differentiated twice.
std::vector<std::string> require_curvature(Learner& learner);

}  // namespace glim
