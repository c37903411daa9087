// Synthetic tasks: sentences of number words, made from (name, seed, count) and nothing else.
//
//   copy     target = source. The first of 10 words is "1" and the others are uniform among "1" … "10", as in
//            the copy task of the Annotated Transformer (its V = 11 counts the padding as well).
//   reverse  target = the source backwards; lengths uniform in 1 … 10.
//   noisy    a signal of 40 symbols and a noisy copy of it: the target stays at its symbol with probability 0.9, else it
//            jumps to one uniform among "1" … "8"; the source is the target with half of its symbols drawn
//            anew. The last symbol predicts the next one best, but only the source shows the jumps: a model
//            that trusts its own last word too much stays wrong.
//   random   source and target independent, of 100 words uniform among "1" … "4999": they can only be memorised.
//            64 of them are the overfitting example of the tutorials.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/data/corpus/corpus.hpp"

namespace glim {

std::vector<SentencePair> synthetic_task(std::string_view name, std::uint64_t seed,
                                         std::int64_t count);

}  // namespace glim
