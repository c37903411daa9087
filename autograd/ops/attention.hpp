// What the two attention ops share: one head, forward and back. The equations stand in attention.cpp.
//
// Vaswani et al. 2017, section 3.2.1. The scale stands before the softmax: q·k of independent entries of
// variance 1 has variance Dk, and a softmax of large scores has almost no gradient.
#pragma once

#include "autograd/kernels/attention.hpp"
#include "autograd/ops.hpp"

namespace glim::ops {

struct AttentionDropout {
  double p = 0;
  RandomKey key;
};

AttentionResult attention_of_heads(const Var& query, const Var& key, const Var& value,
                                   const AttentionMask& mask, const AttentionDropout& drop);

struct AttentionGradients {
  Var query, key, value, bias;  // bias: (..., T, S), before it is summed
};
AttentionGradients attention_gradients(const Var& query, const Var& key, const Var& value,
                                       const AttentionMask& mask, const AttentionDropout& drop,
                                       const Var& dcontext);

// Whether keep and bias broadcast to scores of this shape.
bool fits_scores(const AttentionMask& mask, const Shape& scores);

}  // namespace glim::ops
