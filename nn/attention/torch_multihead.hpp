// Multi-head attention with the options of torch.nn.MultiheadAttention that only imported models use.
//
//   key (B, S, kdim)   value (B, S, vdim)   bias_k, bias_v (1, 1, D)
//   with kdim or vdim other than D, instead of in_proj_weight:
//   q_proj_weight (D, D), k_proj_weight (D, kdim), v_proj_weight (D, vdim)
//
// Errors: those of MultiheadAttention; ValueError for share_qk with a kdim or vdim other than D, and for
// decoding with a cache.
#pragma once

#include <optional>

#include "nn/attention/multihead.hpp"

namespace glim {

struct TorchAttentionOptions {
  bool add_bias_kv = false;    // one learned key and value appended to every sequence
  bool add_zero_attn = false;  // one key and value of zeros appended
  std::optional<Index> kdim = {}, vdim = {};  // D unless given
  bool batch_first = true;                    // false: (T, B, D), (S, B, D)
};

class TorchMultiheadAttention : public MultiheadAttention {
 public:
  TorchMultiheadAttention(Index d_model, Index heads, AttentionOptions options = {},
                          TorchAttentionOptions torch = {});
  bool batch_first() const { return torch_.batch_first; }

  AttentionOutput forward(const Var& query, const Var& key, const Var& value,
                          const AttentionRequest& request) override;

 private:
  bool plain() const;
  Heads project_apart(const Var& query, const Var& key, const Var& value) const;
  void append_keys(Var& key, Var& value, AttentionMask& mask) const;

  TorchAttentionOptions torch_;
  Param q_proj_weight_, k_proj_weight_, v_proj_weight_, bias_k_, bias_v_;
};

}  // namespace glim
