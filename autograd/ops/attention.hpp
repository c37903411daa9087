// What the two attention ops share: one head, forward and back. The equations stand in attention.cpp.
//
// Vaswani et al. 2017, section 3.2.1. The scale stands before the softmax: q·k of independent entries of
// variance 1 has variance Dk, and a softmax of large scores has almost no gradient.
#pragma once

#include "autograd/kernels/attention.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"

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

// What the kernel needs beside shapes. ValueError for a dropout probability below 0; DTypeError unless the
// operands share a floating dtype with the bias, and keep is bool; ShapeError unless both broadcast to the
// scores. `listed` adds the operands to an error.
void require_attention(std::string_view op, DType dtype, bool same_dtypes,
                       const AttentionMask& mask, const Shape& scores, double dropout_p,
                       const std::function<void(Error&)>& listed);

}  // namespace glim::ops
