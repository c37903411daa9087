// Synthetic tasks: sentences of number words, made from (seed, count, V, length) and nothing else.
//
//   copy     target = source. The first word is "1" and the others are uniform among "1" … "V", as in
//            the copy task of the Annotated Transformer (its V = 11 counts the padding as well).
//   reverse  target = the source backwards; lengths uniform in 1 … length.
//   noisy    a signal and a noisy copy of it: the target stays at its symbol with probability 0.9, else it
//            jumps to one uniform among "1" … "V"; the source is the target with half of its symbols drawn
//            anew. The last symbol predicts the next one best, but only the source shows the jumps: a model
//            that trusts its own last word too much stays wrong.
//   random   source and target independent, uniform among "1" … "V-1": they can only be memorised.
//            V = 5000, count = 64, length = 100 is the overfitting example of the tutorials.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/data/corpus/corpus.hpp"

namespace glim {

// ValueError when count, length or the number of symbols is less than one.
std::vector<SentencePair> copy_task(std::uint64_t seed, std::int64_t count,
                                    std::int64_t symbols = 10, std::int64_t length = 10);
std::vector<SentencePair> reverse_task(std::uint64_t seed, std::int64_t count,
                                       std::int64_t symbols = 10, std::int64_t length = 10);
std::vector<SentencePair> noisy_task(std::uint64_t seed, std::int64_t count,
                                     std::int64_t symbols = 8, std::int64_t length = 40);
std::vector<SentencePair> random_task(std::uint64_t seed, std::int64_t count = 64,
                                      std::int64_t vocabulary = 5000, std::int64_t length = 100);

}  // namespace glim
