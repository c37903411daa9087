// Keep-masks: true = may attend, everywhere. They broadcast to scores (B, H, T, S).
//
// A query with nothing to attend to gets zeros and sends zero gradients (masked_softmax), so the
// masks need no exception for padded rows.
#pragma once

#include <vector>

#include "tensor/tensor.hpp"

namespace glim {

// ids (B, S) int64 -> (B, 1, 1, S): true where the token is not padding. ShapeError otherwise.
Tensor padding_keep(const Tensor& ids, Index pad);
// (1, 1, T, S): query i, at position offset + i, may attend to keys 0 ... offset + i.
Tensor causal_keep(Index queries, Index keys, Index offset = 0);
inline Tensor causal_keep(Index length) { return causal_keep(length, length); }
// Both at once, for a decoder's self-attention: (B, 1, T, T).
Tensor decoder_keep(const Tensor& ids, Index pad);

// Length of each row of ids (B, S) int64 without the padding at its end. ShapeError otherwise.
std::vector<Index> row_lengths(const Tensor& ids, Index pad);

}  // namespace glim
