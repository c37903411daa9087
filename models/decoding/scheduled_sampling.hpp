// Scheduled sampling (Bengio et al. 2015): in training, some of the decoder's inputs are the model's
// own predictions instead of the true tokens, and more of them over time, so that it learns to
// continue after its own mistakes.
//
// The share of predictions after t updates, with N the steps of the ramp (section 2.4 there;
// ε_t is the share of true tokens):
//
//   share_t = most (1 - ε_t)
//   constant          ε = 0
//   linear            ε = max(0, 1 - t/N)
//   exponential       ε = k^t                   k = 0.01^{1/N}: ε = 0.01 at N
//   inverse-sigmoid   ε = k / (k + e^{t/k})     k ln k = N/2: ε = 1/2 at N/2
//
// A recurrent model decides at each step, from its own output of the step before. A Transformer does
// all positions at once, so it takes two passes (Mihaylova & Martins 2019, "Scheduled sampling for
// Transformers"): the first, on true tokens and without gradients, predicts; the second reads the
// mixture, and is what is differentiated:
//
//   in'_0 = <s>    in'_t = argmax of pass one at t-1 with probability share, else the true token
//
// Padding stays padding.
#pragma once

#include "nn/choice.hpp"
#include "tensor/random.hpp"

namespace glim {

enum class SamplingSchedule { Constant, Linear, Exponential, InverseSigmoid };
template <>
inline const ChoiceNames<SamplingSchedule> kNames<SamplingSchedule>{
    {{"constant", SamplingSchedule::Constant},
     {"linear", SamplingSchedule::Linear},
     {"exponential", SamplingSchedule::Exponential},
     {"inverse-sigmoid", SamplingSchedule::InverseSigmoid}}};

// ValueError for `most` outside [0, 1], steps < 1 (of a ramp), or a negative step.
double sampling_share(SamplingSchedule schedule, double most, Index steps, Index step);

// The mixture: truth (B, T), which begins with <s>; predicted (B, T), at t the token after t. Where
// bernoulli(share, key) is true at (b, t), t > 0, the token is predicted[b, t-1] unless truth[b, t]
// is padding or the prediction is. ShapeError unless both have one shape (B, T).
Tensor mix_predictions(const Tensor& truth, const Tensor& predicted, double share, RandomKey key,
                       Index pad);

}  // namespace glim
