// Multi-head attention (Vaswani et al. 2017, section 3.2.2), with torch's names of parameters.
//
//   head_i = attention(Q W_i^Q, K W_i^K, V W_i^V)      y = concat(head_1 ... head_H) W^O
//
//   query (B, T, D)   key, value (B, S, D)   y (B, T, D)   D = H Dh
//
//   in_proj_weight (3D, D), rows of W^Q, W^K, W^V in turn   in_proj_bias (3D,)
//   with share_qk (2D, D), rows of W^Q = W^K and of W^V: the gradient is the sum of both uses
//   with G kv_heads, each of which H/G heads share (Ainslie et al. 2023), (D + 2 G Dh, D)
//   out_proj.weight (D, D)   out_proj.bias (D,)
//
// Errors: ValueError when H does not divide D or G does not divide H, for rotary heads of odd width, or dropout
// outside [0, 1]; ShapeError for what does not fit. Keep-masks are bool, biases of the model's dtype.
#pragma once

#include "nn/attention/cache.hpp"
#include "nn/attention/heads.hpp"
#include "nn/attention/mask.hpp"
#include "nn/attention/relative_positions.hpp"
#include "nn/linear.hpp"

namespace glim {

struct AttentionOptions {
  double dropout = 0;  // on the probabilities
  bool bias = true;
  Positions positions = Positions::None;  // of self-attention, Rotary or Alibi; row 0 is at 0
  double rotary_base = 10000;
  bool share_qk = false;  // W^Q is W^K, and their biases
  Index kv_heads = 0;     // heads of keys and values; 0: as many as heads
};

struct AttentionOutput {
  Var y;
  Var weights;  // undefined unless asked for; before dropout
};

class MultiheadAttention : public Callable<MultiheadAttention> {
  AttentionOptions options_;
  Index d_, h_, d_kv_;  // width of queries, their heads, width of keys and of values

 public:
  MultiheadAttention(Index d_model, Index heads, AttentionOptions options = {})
      : MultiheadAttention(d_model, heads, options, true) {}
  Index d_model() const { return d_; }
  Child<Linear> out_proj;
  Param in_proj_weight, in_proj_bias;

  virtual AttentionOutput forward(const Var& query, const Var& key, const Var& value,
                                  const AttentionRequest& request = {});

  // Attention of x to itself, and of x to a memory, by fewer products (packed.cpp).
  // With a cache, as when decoding: keys and values of x (B, n, D) join it, and x attends to all.
  virtual AttentionOutput forward(const Var& x, const AttentionRequest& request = {},
                                  KeyValueCache* cache = nullptr);
  virtual AttentionOutput forward(const Var& x, const Var& memory,
                                  const AttentionRequest& request = {});

  // Keys and values of a memory (B, S, D), computed once, and attended to while decoding (cached.cpp).
  // x (B·K, n, D): K neighbouring rows share a memory. ShapeError for rows that B does not divide.
  KeyValueCache project(const Var& memory);
  AttentionOutput attend(const Var& x, const KeyValueCache& memory,
                         const AttentionRequest& request = {});

 protected:
  enum Part { Query, Key, Value };
  // If `packed` is false, in_proj_weight is absent and the subclass holds W^Q, W^K and W^V.
  MultiheadAttention(Index d_model, Index heads, AttentionOptions options, bool packed);
  void check(const Var& query, const Var& key, const Var& value) const;
  // A part's rows in in_proj_weight and in_proj_bias, and its columns in their product.
  Index begin(Part p) const {
    return d_ * (p != Query && !options_.share_qk) + d_kv_ * (p == Value);
  }
  Index end(Part part) const { return begin(part) + (part == Query ? d_ : d_kv_); }
  // x W_partsᵀ + b_parts for the parts from `first` to `last`, by one product: (B, T, parts·D).
  Var project(const Var& x, Part first, Part last) const;
  Var split_heads(const Var& x) const { return glim::split_heads(x, x.size(-1) * h_ / d_); }
  Var rotated(const Var& x, Index offset = 0) { return rotary_ ? rotary_(x, offset) : x; }
  AttentionMask mask(const AttentionRequest& request, const Var& query, const Var& key,
                     Index offset = 0) const;
  AttentionOutput attend_heads(const Var& query, const Var& key, const Var& value,
                               const AttentionMask& mask, const AttentionRequest& request);

 private:
  AttentionOutput project_out(const AttentionResult& a, bool average);
  // True if the heads are columns of the projections as they come.
  bool packs() const { return !options_.share_qk && !rotary_ && d_kv_ == d_; }
  double dropout() const { return training() ? options_.dropout : 0; }
  RandomKey dropout_key() const { return dropout() > 0 ? generator().next() : RandomKey{}; }

  Child<std::unique_ptr<RotaryPositions>> rotary_;
};

}  // namespace glim
