// Multi-head attention (Vaswani et al. 2017, section 3.2.2), with the options of
// torch.nn.MultiheadAttention and its parameter names.
//
//   head_i = attention(Q W_i^Q, K W_i^K, V W_i^V)      y = concat(head_1 ... head_H) W^O
//
//   query (B, T, D)   key (B, S, kdim)   value (B, S, vdim)   y (B, T, D)   D = H Dh
//
//   in_proj_weight (3D, D), rows of W^Q, W^K, W^V in turn; with kdim or vdim other than D instead
//   q_proj_weight (D, D), k_proj_weight (D, kdim), v_proj_weight (D, vdim)
//   in_proj_bias (3D,)   bias_k, bias_v (1, 1, D)   out_proj.weight (D, D)   out_proj.bias (D,)
//
// Positions, if not none, are the relative ones of nn/attention/relative_positions.hpp: rotary turns the heads
// of query and key, ALiBi is added to the scores.
//
// Errors: ValueError when H does not divide D, for rotary heads of odd width, or dropout lies outside [0, 1]; ShapeError naming
// the axis that does not fit; keep-masks are bool, biases of the model's dtype.
#pragma once

#include "nn/attention/cache.hpp"
#include "nn/attention/relative_positions.hpp"
#include "nn/linear.hpp"
#include "nn/module.hpp"

namespace glim {

struct AttentionOptions {
  double dropout = 0;  // on the probabilities
  bool bias = true;
  bool add_bias_kv = false;    // one learned key and value appended to every sequence
  bool add_zero_attn = false;  // one key and value of zeros appended
  Index kdim = 0, vdim = 0;    // 0: D
  bool batch_first = true;     // false: (T, B, D), (S, B, D)
  // Of self-attention; the query's and the key's first row are at position 0.
  RelativePositions positions = RelativePositions::None;
  double rotary_base = 10000;
};

// What may be attended to, and what is wanted. All masks hold at once.
struct AttentionRequest {
  Tensor key_keep;  // (B, S) bool
  Tensor keep;      // (T, S), (B·H, T, S), or rank 4 that broadcasts to (B, H, T, S); bool
  Var key_bias;     // (B, S), added to the scores
  Var bias;         // as keep, added to the scores
  bool causal = false;
  bool need_weights = false;
  bool average_weights = true;  // over heads: (B, T, S) instead of (B, H, T, S)
};

struct AttentionOutput {
  Var y;
  Var weights;  // undefined unless asked for; before dropout
};

class MultiheadAttention final : public Module {
 public:
  MultiheadAttention(Index d_model, Index heads, AttentionOptions options = {});

  AttentionOutput forward(const Var& query, const Var& key, const Var& value,
                          const AttentionRequest& request = {});
  // Self-attention: query, key and value by one product.
  AttentionOutput forward(const Var& x, const AttentionRequest& request = {});
  // The same by H separate heads whose results are concatenated, as the paper writes it.
  Var forward_head_by_head(const Var& query, const Var& key, const Var& value,
                           const AttentionRequest& request = {});

  // Decoding, x (B, n, D): keys and values of x join the cache, x attends to the whole of it.
  AttentionOutput forward_cached(const Var& x, KeyValueCache& cache,
                                 const AttentionRequest& request = {});
  // Decoding: keys and values of a memory (B, S, D), computed once ...
  KeyValueCache project(const Var& memory);
  // ... and attended to at each step. x (B·K, n, D): K neighbouring rows share a memory, as the
  // prefixes of a beam do. ShapeError when the rows do not divide so.
  AttentionOutput attend(const Var& x, const KeyValueCache& cache,
                         const AttentionRequest& request = {});

  Index d_model() const { return d_; }
  Index heads() const { return h_; }

 private:
  struct Projected {
    Var query, key, value;  // (B, H, ., Dh)
  };
  Var project_part(const Var& x, int part, int parts);  // W^Q 0, W^K 1, W^V 2
  Var split_heads(const Var& x) const;
  Var placed(const Var& heads, Index offset) const;
  bool packs() const;
  // x (B, T, 3D), or x (B, T, D) and memory (B, S, 2D).
  AttentionOutput attend_packed(const Var& x, const Var& memory, const AttentionRequest& request);
  AttentionOutput project_out(const Attended& a, const AttentionRequest& request);
  AttentionOutput attend_heads(const Projected& p, const AttentionRequest& request, Index offset);
  AttentionMask combine(const AttentionRequest& request, Index b, Index t, Index s, Index extra,
                        Index offset) const;
  void check(const Var& query, const Var& key, const Var& value) const;

  Index d_, h_;
  AttentionOptions options_;
  Var in_proj_weight_, q_proj_weight_, k_proj_weight_, v_proj_weight_, in_proj_bias_;
  Var bias_k_, bias_v_;
  Linear& out_proj_;
  RotaryPositions* rotary_ = nullptr;
};

}  // namespace glim
