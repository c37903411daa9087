// Shared by the two attention ops: one head, forward and back. The equations are in attention.cpp.
//
// Vaswani et al. 2017, section 3.2.1. The scale is before the softmax: q·k of independent entries of
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

// Forward keeps P where a head's is small (T S <= 8192, which the first cache holds) and no larger than the
// projections around it: reading it is then cheaper than a product and a softmax. For longer sequences P would
// dominate the memory of the model. With 100 positions of 8 heads of 64 that is 7 % of a step's memory, for
// 1 to 2 % of its time.
inline bool keeps_probs(const kernels::Attended& o) {
  return o.s <= 2 * (o.dk + o.dv) && o.t * o.s <= 8192;
}
// Writes context. Returns P, undefined where it is not kept.
inline Tensor attend(const kernels::Attended& o, const Tensor& context, bool backward_follows) {
  Tensor probs;
  if (backward_follows && keeps_probs(o)) probs = empty({o.heads, o.t, o.s}, o.dtype);
  kernels::attention(o, context, probs);
  return probs;
}

AttentionResult attention_of_heads(const Var& query, const Var& key, const Var& value,
                                   const AttentionMask& mask, const AttentionDropout& drop);

struct AttentionGradients {
  Var query, key, value, bias;  // bias: (..., T, S), before it is summed
};
AttentionGradients attention_gradients(const Var& query, const Var& key, const Var& value,
                                       const AttentionMask& mask, const AttentionDropout& drop,
                                       const Var& dcontext);

// The options of the kernel. ValueError for a dropout probability below 0; DTypeError unless the
// operands share a floating dtype with the bias, and keep is bool; ShapeError unless both broadcast to the
// scores. `listed` adds the operands to an error.
void require_attention(std::string_view op, DType dtype, bool same_dtypes,
                       const AttentionMask& mask, const Shape& scores, double dropout_p,
                       const std::function<void(Error&)>& listed);

}  // namespace glim::ops
