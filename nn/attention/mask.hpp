// Keep-masks: true = may attend, everywhere. They broadcast to scores (B, H, T, S).
//
// A query with nothing to attend to gets zeros and sends zero gradients (masked_softmax), so the
// masks need no exception for padded rows.
#pragma once

#include <vector>

#include "autograd/ops.hpp"

namespace glim {

struct KeyValueCache;

// Which keys may be attended to, and which results to return. All masks apply together.
struct AttentionRequest {
  Tensor key_keep = {};  // (B, S) bool
  Tensor keep = {};      // (T, S), (B·H, T, S), or rank 4 that broadcasts to (B, H, T, S); bool
  Var key_bias = {};     // (B, S), added to the scores
  Var bias = {};         // as keep, added to the scores
  bool causal = false;
  bool need_weights = false;
  bool average_weights = true;     // over heads: (B, T, S) instead of (B, H, T, S)
  KeyValueCache* cache = nullptr;  // that the keys and values join
};
// The request's masks as one, for scores (B, H, T, S) whose first query is at position `offset`, with a
// further bias if defined. ShapeError naming the mask that does not fit; DTypeError unless keep is bool.
AttentionMask combined(const AttentionRequest& request, const Shape& scores, Index offset = 0,
                       const Var& bias = {});

// ids (B, S) int64 -> (B, 1, 1, S): true where the token is not padding. ShapeError otherwise.
Tensor padding_keep(const Tensor& ids, Index pad);
// (1, 1, T, S): query i, at position offset + i, may attend to keys 0 ... offset + i.
Tensor causal_keep(Index queries, Index keys, Index offset = 0);
inline Tensor causal_keep(Index length) { return causal_keep(length, length); }
// Both at once, for a decoder's self-attention: (B, 1, T, T).
Tensor decoder_keep(const Tensor& ids, Index pad);

// The mean of x (B, S, D) over the positions with keep (B, S) = true: (B, D); 0 where there
// are none.
Var masked_mean(const Var& x, const Tensor& keep);

// Length of each row of ids (B, S) int64 without the padding at its end. ShapeError otherwise.
std::vector<Index> row_lengths(const Tensor& ids, Index pad);

}  // namespace glim
