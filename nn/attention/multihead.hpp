// Multi-head attention (Vaswani et al. 2017, section 3.2.2), with torch's names of parameters.
//
//   head_i = attention(Q W_i^Q, K W_i^K, V W_i^V)      y = concat(head_1 ... head_H) W^O
//
//   query (B, T, D)   key, value (B, S, D)   y (B, T, D)   D = H Dh, the width of H heads
//   out_proj.weight = (W^O)ᵀ (D, D)   out_proj.bias (D,)
//   G ≤ H heads of keys and values, which queries share (kv_heads; H unless given)
//
// In the order of reading:
//
//   head_by_head.hpp   the same as the paper writes it, in a loop over heads
//   multihead.cpp      forward, in three lines
//   in_projection.hpp  Q W^Q, K W^K, V W^V: one product for a sequence with itself, two with a memory
//   head_options.hpp   what the paper does not have (rotary angles, norms, a cache), and the masks
//   mask.hpp           AttentionRequest: the masks of a call, its cache, and whether weights are asked for
//   heads.hpp          all heads by one op (autograd/ops/packed_attention.cpp), or apart by equation 1, which is
//                      attention_of_heads (autograd/ops/attention.cpp): (B, H, T, Dh) in batched products
//
// Without options, heads are columns of [Q K V] (B, T, 3D), or of Q (B, T, D) and [K V] (B, S, 2D), and one op gives the
// context (B, T, D). With options or a cache: Q (B, H, T, Dh), K and V (B, G, S, Dh), and scores (B, H, T, S) by equation 1.
// Beside them: cached.cpp for decoding, torch_multihead.hpp for options of torch alone.
//
// Errors: ValueError for options that do not fit one another (require_options), for rotary heads of odd width, and for
// relative positions with a memory; ShapeError for shapes, DTypeError for keep-masks that are not bool and other dtypes.
#pragma once

#include "nn/attention/in_projection.hpp"
#include "nn/linear.hpp"

namespace glim {

struct AttentionOutput {
  Var y;
  Var weights;  // undefined unless asked for; before dropout
};

class MultiheadAttention : public Module {
  Index d_;  // before all others: its initialiser refuses options that do not fit one another
  double dropout_;

 public:
  MultiheadAttention(Index d_model, Index heads, AttentionOptions options = {})
      : MultiheadAttention(d_model, heads, options, true) {}
  Index d_model() const { return d_; }
  Child<Linear> out_proj;
  InProjection in_proj;

  // An undefined key is the query, an undefined value the key: fewer products.
  virtual AttentionOutput forward(const Var& query, const Var& key, const Var& value,
                                  const AttentionRequest& request);

  AttentionOutput operator()(const Var& query, const Var& key, const Var& value,
                             const AttentionRequest& request = {}) {
    return in_scope([&] {
      head_options_.require_distances(query, key);
      return forward(query, key, value, request);
    });
  }
  AttentionOutput operator()(const Var& x, const Var& memory,
                             const AttentionRequest& request = {}) {
    return (*this)(x, memory, {}, request);
  }
  // With a cache, as when decoding: keys and values of x (B, n, D) join it, and x attends to all.
  AttentionOutput operator()(const Var& x, AttentionRequest request = {},
                             KeyValueCache* cache = nullptr) {
    if (cache) request.cache = cache;
    return (*this)(x, {}, {}, request);
  }

  // Keys and values of a memory (B, S, D), computed once, and attended to while decoding (cached.cpp).
  // x (B·K, n, D): K neighbouring rows share a memory. ShapeError for rows that B does not divide.
  KeyValueCache project(const Var& memory);
  AttentionOutput attend(const Var& x, const KeyValueCache& memory,
                         const AttentionRequest& request = {});

 protected:
  // If `packed` is false, in_proj has no weight, and a subclass holds W^Q, W^K and W^V.
  MultiheadAttention(Index d_model, Index heads, AttentionOptions options, bool packed);
  AttentionOutput attend_and_join(const Heads& heads, const AttentionRequest& request);

  HeadOptions head_options_;
};

}  // namespace glim
