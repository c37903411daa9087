// Token pairs to padded batches.
//
//   source      (B, S)  x_1 … x_{S-1} </s>        right-padded with <pad>
//   target_in   (B, T)  <s> y_1 … y_{T-1}         input of the decoder (shifted right)
//   target_out  (B, T)  y_1 … y_{T-1} </s>        targets to predict
//
// The batches of an epoch: the pairs are shuffled, then sorted by target length and, within it, by source
// length, up and down in turn; equal lengths stay in shuffled order. The list is cut where the next pair
// would exceed a limit, and the batches are shuffled. So a batch has pairs of nearly equal length and little
// padding, and its pairs change with every epoch. Everything is a function of (pairs, options, seed, epoch):
// a run resumes from (epoch, index of the batch) alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"
#include "tools/data/corpus/corpus.hpp"

namespace glim {

struct BatchOptions {
  // Largest number of padded tokens: B times the larger of S and T. A single pair that is longer makes a
  // batch of its own. 0: no limit.
  std::int64_t max_tokens = 0;
  std::int64_t max_sentences = 0;  // most pairs in a batch; 0: no limit
  bool shuffle = true;             // false: sorted by length, the same in each epoch (validation)
};

struct Batch {
  Tensor source, target_in, target_out;  // int64
};

// Positions in `pairs`, batch by batch; every position once.
std::vector<std::vector<std::int64_t>> epoch_batches(std::span<const TokenPair> pairs,
                                                     const BatchOptions& options,
                                                     std::uint64_t seed, std::int64_t epoch);

// The batch of the pairs at `index`, in this order. IndexError for a position outside `pairs`.
Batch make_batch(std::span<const TokenPair> pairs, std::span<const std::int64_t> index);

}  // namespace glim
