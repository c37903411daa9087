// Multi-head attention (Vaswani et al. 2017, section 3.2.2), with the options of
// torch.nn.MultiheadAttention and its parameter names.
//
//   head_i = attention(Q W_i^Q, K W_i^K, V W_i^V)      y = concat(head_1 ... head_H) W^O
//
//   query (B, T, D)   key (B, S, kdim)   value (B, S, vdim)   y (B, T, D)   D = H Dh
//
//   in_proj_weight (3D, D), rows of W^Q, W^K, W^V in turn; with kdim or vdim other than D instead
//   q_proj_weight (D, D), k_proj_weight (D, kdim), v_proj_weight (D, vdim)
//   with share_qk in_proj_weight (2D, D), rows of W^Q = W^K and of W^V: the gradient is the sum of both uses
//   in_proj_bias (3D,), shared (2D,)   bias_k, bias_v (1, 1, D)   out_proj.weight (D, D)   out_proj.bias (D,)
//
// Positions here are the relative ones of nn/attention/relative_positions.hpp: rotary turns the
// heads of query and key, ALiBi is added to the scores.
//
// Errors: ValueError when H does not divide D, for share_qk with a kdim or vdim other than D, for rotary
// heads of odd width, or dropout outside [0, 1];
// ShapeError naming the axis that does not fit; keep-masks are bool, biases of the model's dtype.
#pragma once

#include <optional>

#include "nn/attention/cache.hpp"
#include "nn/attention/mask.hpp"
#include "nn/attention/relative_positions.hpp"
#include "nn/linear.hpp"

namespace glim {

struct AttentionOptions {
  double dropout = 0;  // on the probabilities
  bool bias = true;
  bool add_bias_kv = false;    // one learned key and value appended to every sequence
  bool add_zero_attn = false;  // one key and value of zeros appended
  std::optional<Index> kdim = {}, vdim = {};  // D unless given
  bool batch_first = true;                    // false: (T, B, D), (S, B, D)
  // Self-attention's positions, Rotary or Alibi; query and key have their first row at position 0.
  Positions positions = Positions::None;
  double rotary_base = 10000;
  bool share_qk = false;  // W^Q is W^K, and their biases; kdim and vdim are D
};

struct AttentionOutput {
  Var y;
  Var weights;  // undefined unless asked for; before dropout
};

// Called as (query, key, value); as (x) for self-attention and as (x, memory) for cross-attention, where one product
// computes all projections of the same tensor (packed.cpp). Each takes an optional AttentionRequest.
class MultiheadAttention : public Callable<MultiheadAttention> {
  AttentionOptions options_;
  Index d_, h_;

 public:
  MultiheadAttention(Index d_model, Index heads, AttentionOptions options = {});
  Index d_model() const { return d_; }
  bool batch_first() const { return options_.batch_first; }
  Child<Linear> out_proj;
  Param in_proj_weight;  // of query, key and value (3 D, D), where they read the same width

  // Attention by H separate heads whose results are concatenated, as the paper writes it
  // (head_by_head.cpp). ValueError for appended keys and for dropout.
  Var head_by_head(const Var& query, const Var& key, const Var& value,
                   const AttentionRequest& request = {});

  // Decoding (cached.cpp). Keys and values of a memory (B, S, D), computed once ...
  KeyValueCache project(const Var& memory);
  // ... and attended to at each step. x (B·K, n, D): K neighbouring rows share a memory, as the
  // prefixes of a beam do. ShapeError for a number of rows that B does not divide.
  AttentionOutput attend(const Var& x, const KeyValueCache& memory,
                         const AttentionRequest& request = {});

  AttentionOutput forward(const Var& query, const Var& key, const Var& value,
                          const AttentionRequest& request = {});
  // With a cache, as when decoding: keys and values of x (B, n, D) join it, and x attends to the whole of it.
  AttentionOutput forward(const Var& x, const AttentionRequest& request = {},
                          KeyValueCache* cache = nullptr);
  AttentionOutput forward(const Var& x, const Var& memory, const AttentionRequest& request = {});

 private:
  enum Part { Query, Key, Value };
  // Where a part's D rows begin in in_proj_weight and in_proj_bias, and its columns in their product.
  Index begin(Part part) const { return d_ * (options_.share_qk ? part / Value : part); }
  AttentionOutput attention(const Var& query, const Var& key, const Var& value,
                            const AttentionRequest& request);
  void check(const Var& query, const Var& key, const Var& value) const;
  Var project(const Var& x, Part part) const;
  Var project(const Var& x, Part first, Part last) const;
  Var weight(Part part) const;
  Var split_heads(const Var& x) const;
  Var join_heads(const Var& x) const;
  Var rotated(const Var& heads, Index offset = 0);
  void append_keys(Var& key, Var& value, AttentionMask& mask) const;
  AttentionMask mask(const AttentionRequest& request, Index batch, Index queries, Index keys,
                     Index offset = 0) const;
  double dropout() const { return training() ? options_.dropout : 0; }
  bool packs() const;
  AttentionOutput attend_packed(const Var& x, const Var& memory, const AttentionRequest& request);
  AttentionOutput attend_heads(const Var& query, Var key, Var value,
                               const AttentionRequest& request, Index offset = 0);
  AttentionOutput project_out(const AttentionResult& a, const AttentionRequest& request);

  Child<std::unique_ptr<RotaryPositions>> rotary_;
  Param q_proj_weight_, k_proj_weight_, v_proj_weight_, in_proj_bias_, bias_k_, bias_v_;
};

}  // namespace glim
