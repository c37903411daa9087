// Options of multi-head attention beyond the paper's. What may be between the projections and the scores: positions
// within attention, norms of queries and keys, and keys and values of earlier positions, as when decoding.
//
// QK norm (Dehghani et al. 2023, arXiv 2302.05442, 2.2; Wortsman et al. 2023, arXiv 2309.14322, 3.1) is a layer norm
// without bias over the Dh numbers of each query and key, with one gain for all heads:
//
//   S = norm(R Q) norm(R K)ᵀ / √Dh     norm(x) = γ ⊙ (x - μ)/σ     |S| ≤ √Dh max|γ_q| max|γ_k|
//
// Rotary angles R come first. Norms and gains act on channels, so that scores then depend on positions, and not on
// distances alone.
#pragma once

#include "nn/attention/cache.hpp"
#include "nn/attention/heads.hpp"
#include "nn/attention/mask.hpp"
#include "nn/attention/relative_positions.hpp"
#include "nn/choice.hpp"
#include "nn/layer_norm.hpp"

namespace glim {

template <>
inline const ChoiceNames<AttentionForm> kNames<AttentionForm>{{{"softmax", AttentionForm::Softmax},
                                                               {"relu", AttentionForm::Relu},
                                                               {"linear", AttentionForm::Linear}}};

struct AttentionOptions {
  double dropout = 0;  // on the probabilities
  bool bias = true;
  Positions positions = Positions::None;  // Rotary or Alibi, for self-attention; row 0 is at 0
  double rotary_base = 10000;
  bool share_qk = false;   // W^Q is W^K, and their biases
  Index kv_heads = 0;      // heads of keys and values; 0: as many as heads
  double scale = 0;        // factor of Q Kᵀ in the scores; 0: 1/√Dh
  bool qk_norm = false;    // norms of queries and keys, q_norm and k_norm
  double norm_eps = 1e-5;  // of these norms
  AttentionForm form = AttentionForm::Softmax;
};
// Returns d_model. ValueError for options that do not fit one another.
Index require_options(Index d_model, Index heads, const AttentionOptions& options);

class HeadOptions {
 public:
  HeadOptions(Module& owner, Index width, const AttentionOptions& options);
  // Rotates and norms queries and keys, joins a cache, and combines the masks.
  void add_to(Heads& heads, const AttentionRequest& request) const;
  // The masks of the request for these heads, whose first query is at position `offset`.
  AttentionMask mask(const Heads& heads, const AttentionRequest& request, Index offset = 0) const;
  // Heads (B, H, T, Dh) of queries or keys under their norm, where there is one.
  Var normed_query(const Var& query) const { return q_norm_ ? q_norm_(query) : query; }
  Var normed_key(const Var& key) const { return k_norm_ ? k_norm_(key) : key; }
  // ValueError for relative positions unless the key is undefined or the query itself.
  void require_distances(const Var& query, const Var& key) const;

 private:
  Positions positions_;
  double scale_;
  AttentionForm form_;
  Child<std::unique_ptr<RotaryPositions>> rotary_;
  Child<std::unique_ptr<LayerNorm>> q_norm_, k_norm_;
};

}  // namespace glim
