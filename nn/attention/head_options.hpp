// Options of multi-head attention beyond the paper's. What may be between the projections and the scores: positions
// within attention, and keys and values of earlier positions, as when decoding.
#pragma once

#include "nn/attention/cache.hpp"
#include "nn/attention/heads.hpp"
#include "nn/attention/mask.hpp"
#include "nn/attention/relative_positions.hpp"

namespace glim {

struct AttentionOptions {
  double dropout = 0;  // on the probabilities
  bool bias = true;
  Positions positions = Positions::None;  // Rotary or Alibi, for self-attention; row 0 is at 0
  double rotary_base = 10000;
  bool share_qk = false;  // W^Q is W^K, and their biases
  Index kv_heads = 0;     // heads of keys and values; 0: as many as heads
  double scale = 0;       // factor of Q Kᵀ in the scores; 0: 1/√Dh
};
// Returns d_model. ValueError for options that do not fit one another.
Index require_options(Index d_model, Index heads, const AttentionOptions& options);

class HeadOptions {
 public:
  HeadOptions(Module& owner, Index width, const AttentionOptions& options);
  // Rotates queries and keys, joins a cache, and combines the masks.
  void add_to(Heads& heads, const AttentionRequest& request) const;
  // The masks of the request for these heads, whose first query is at position `offset`.
  AttentionMask mask(const Heads& heads, const AttentionRequest& request, Index offset = 0) const;
  // ValueError for relative positions unless the key is undefined or the query itself.
  void require_distances(const Var& query, const Var& key) const;

 private:
  Positions positions_;
  double scale_;
  Child<std::unique_ptr<RotaryPositions>> rotary_;
};

}  // namespace glim
