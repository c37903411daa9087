// Measurements inside a model, on a few samples that never change:
//
//   layer l, output x_1 … x_n (n tokens, D wide; the last value computed in the layer's scope)
//     rms          √(mean of x²): the scale of its activations
//     similarity   mean over i ≠ j of cos(x_i, x_j): near 1 the tokens have collapsed to one
//                  (Dong et al. 2021 measure the residual from rank 1)
//     Layers are the numbered items of a model's lists; a recurrent model, whose layers hold one state
//     at a time, has none.
//   attention head, probabilities P (T, S)
//     entropy, saturation, distance   tools/measure/attention_statistics.hpp
//     score                           the largest |S| of its scores S
//
// Each is the mean over the samples, but the largest score is that of all. Where it is not defined (the similarity of one token, the
// saturation of queries without a choice) it is NaN.
//
// The model runs in explicit magnification, whose tape has the probabilities, and in eval(): without
// dropout's noise, the same weights give the same numbers. Its mode and the random generator are restored, so
// training is not affected.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/module.hpp"

namespace glim {

struct ProbedLayer {
  std::string name;  // "encoder.layers.0"
  double rms, similarity;
};
struct ProbedAttention {
  std::string name;                                          // "decoder.layers.0.multihead_attn"
  std::vector<double> entropy, saturation, distance, score;  // of each head
};
struct Probed {
  std::vector<ProbedLayer> layers;         // in the order of the computation
  std::vector<ProbedAttention> attention;  // the same; empty for a model without
};

// run(i) computes the i-th of `samples` samples, on the open tape.
Probed probe_inside(Module& model, Index samples, const std::function<void(Index i)>& run);

// Mean cosine between different rows of x (n, D); NaN for n < 2 or when a row is 0.
double token_similarity(const Tensor& x);

}  // namespace glim
