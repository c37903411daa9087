// Drawing the next token from a language model's distribution.
//
//   p_v ∝ exp(u_v / temperature)       u: logits; below 1 sharper, above 1 flatter, 0 the likeliest token
//   top-k     only the k likeliest tokens (Fan et al. 2018, arXiv 1805.04833)
//   top-p     only the fewest of the likeliest tokens whose probabilities reach p together
//             (Holtzman et al. 2020, arXiv 1904.09751, section 3.1), taken after top-k
//
// The remaining probabilities are scaled to sum 1. Equal probabilities are ordered by token, lower first. Draw i of
// a stream is a function of (key, i, distribution): the same seed gives the same text, whatever the
// number of threads.
//
// Errors: ValueError naming the option for a temperature that is negative or not finite, top-k outside [0, V] or
// top-p outside (0, 1]; NonFiniteError where no token has a finite logit.
#pragma once

#include <functional>
#include <vector>

#include "models/decoding/decoding.hpp"
#include "tensor/random.hpp"

namespace glim {

struct SamplingOptions {
  bool greedy = false;  // the likeliest token; the rest is ignored
  double temperature = 1;
  Index top_k = 0;  // 0: all tokens
  double top_p = 1;
  std::vector<Index> never = {0, 1, 3};  // tokens that are never drawn: padding, beginning, unknown
};

void check(const SamplingOptions& options, Index classes);

// The distribution that is drawn from: logits (V,).
std::vector<double> sampling_probs(const Tensor& logits, const SamplingOptions& options);

// Draw i of a stream: logits (V,).
Index draw(const Tensor& logits, const SamplingOptions& options, RandomKey key, std::uint64_t i);

// Continues the decoder's one row, whose newest token is `last`, by `count` tokens. `take` is called
// with each token as it is drawn; false from it ends the text.
std::vector<Index> generate(StepDecoder& decoder, Index last, Index count,
                            const SamplingOptions& options, RandomKey key,
                            const std::function<bool(Index)>& take = {});

}  // namespace glim
