#include "models/decoding/scheduled_sampling.hpp"

#include <algorithm>
#include <cmath>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/portable.hpp"

namespace glim {
namespace {

// k > 1 with k ln k = half, by Newton's method; the function is convex and rising there.
double inverse_sigmoid_k(double half) {
  double k = std::max(2.0, half);
  for (int i = 0; i < 100; ++i) {
    double step = (k * portable::log(k) - half) / (portable::log(k) + 1);
    k -= step;
    if (std::abs(step) < 1e-12 * k) break;
  }
  return k;
}

}  // namespace

double sampling_share(SamplingSchedule schedule, double most, Index steps, Index step) {
  if (!(most >= 0 && most <= 1)) throw ValueError("sampling_share", "the share is outside [0, 1]");
  if (steps < 1 && schedule != SamplingSchedule::Constant)
    throw ValueError("sampling_share", "the ramp needs at least 1 step");
  if (step < 0) throw ValueError("sampling_share", "the step is negative");
  auto t = static_cast<double>(step), n = static_cast<double>(steps);
  double truth = 0;
  switch (schedule) {
    case SamplingSchedule::Constant:
      break;
    case SamplingSchedule::Linear:
      truth = std::max(0.0, 1 - t / n);
      break;
    case SamplingSchedule::Exponential:
      truth = portable::pow(0.01, t / n);
      break;
    case SamplingSchedule::InverseSigmoid: {
      double k = inverse_sigmoid_k(n / 2);
      truth = k / (k + portable::exp(t / k));  // e^{t/k} may be infinite: then 0
      break;
    }
  }
  return most * (1 - truth);
}

Tensor mix_predictions(const Tensor& truth, const Tensor& predicted, double share, RandomKey key,
                       Index pad) {
  if (truth.rank() != 2 || truth.shape() != predicted.shape())
    throw ShapeError("mix_predictions", "both must have one shape (B, T)",
                     {{"truth", truth}, {"predicted", predicted}});
  Tensor mixed = truth.clone();
  Index later = truth.size(1) - 1;
  if (later < 1) return mixed;
  Tensor tokens = narrow(truth, 1, 1, later), predictions = narrow(predicted, 1, 0, later);
  auto p = static_cast<double>(pad);
  Tensor take = logical_and(bernoulli(tokens.shape(), share, key),
                            logical_and(not_equal(tokens, p), not_equal(predictions, p)));
  narrow(mixed, 1, 1, later).copy_(where(take, predictions, tokens));
  return mixed;
}

}  // namespace glim
