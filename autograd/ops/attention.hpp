// Shared by the two attention ops: one head, forward and back. The equations are in attention.cpp.
//
// Vaswani et al. 2017, section 3.2.1. The scale is before the softmax: q·k of independent entries of
// mean 0 and variance 1 has variance Dk, and a softmax of large scores has almost no gradient.
#pragma once

#include "autograd/kernels/attention.hpp"
#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim::ops {

struct AttentionDropout {
  double p = 0;
  RandomKey key;
};

AttentionResult attention_of_heads(const Var& query, const Var& key, const Var& value,
                                   const AttentionMask& mask, const AttentionDropout& drop);

struct AttentionGradients {
  Var query, key, value, bias;
};
AttentionGradients attention_gradients(const Var& query, const Var& key, const Var& value,
                                       const AttentionMask& mask, const AttentionDropout& drop,
                                       const Var& dcontext);

// The part that both ops have. Heads are tensors (..., T or S, Dk or Dv) of any strides.
struct AttentionOp : Fused {
  AttentionOp(const AttentionMask& m, AttentionDropout d)
      : keep_mask(m.keep), scale(m.scale), drop(d) {}

 protected:
  struct Heads {
    Tensor query, key, value;
  };
  AttentionMask mask_with(const Var& bias) const { return {keep_mask, bias, scale}; }
  // Forward keeps A where a head's is small (T S <= 8192, which the first cache holds) and no larger than the
  // projections around it: reading it is then cheaper than a product and a softmax. For longer sequences A would
  // dominate the memory of the model. Keeping A costs 7 % more memory and saves 1 to 2 % of a step (100
  // positions, 8 heads of 64).
  void attend(const Heads& x, const Tensor& bias, const Tensor& context) {
    const kernels::Attended o = attended(x, bias);
    Tensor probs;
    if (recorded() && o.s <= 2 * (o.dk + o.dv) && o.t * o.s <= 8192)
      probs = empty({o.heads, o.t, o.s}, o.dtype);
    kernels::attention(o, context, probs);
    keep(probs);
  }
  // Writes the gradients of the heads, undefined ones not at all. Returns that of the bias if it is wanted.
  Tensor attend_grad(const Heads& x, const Tensor& bias, const Tensor& dcontext, const Heads& d,
                     bool bias_wanted) const {
    const kernels::Attended o = attended(x, bias);
    Tensor dscores;
    if (bias_wanted) dscores = empty(with_matrix(o.batch_dims, o.t, o.s), o.dtype);
    kernels::attention_grad(o, kept(0), dcontext, {d.query, d.key, d.value, dscores});
    return bias_wanted ? sum_to(dscores, bias.shape()) : dscores;
  }
  Tensor keep_mask;
  double scale;
  AttentionDropout drop;

 private:
  kernels::Attended attended(const Heads& x, const Tensor& bias) const {
    return {x.query, x.key, x.value, bias, keep_mask, scale, drop.p, drop.key};
  }
};

// ValueError for a dropout probability below 0; DTypeError unless the operands share a floating dtype with the bias,
// and keep is bool; ShapeError unless both broadcast to the scores.
void require_attention(std::string_view op, std::initializer_list<NamedOperand> operands,
                       const AttentionMask& mask, const Shape& scores, double dropout_p);

}  // namespace glim::ops
