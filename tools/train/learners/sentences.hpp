// Sentences as the encoder-only models read them, <s> x_1 … x_n </s>, and their batches.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.hpp"
#include "tools/data/corpus/batches.hpp"
#include "tools/data/tokenizers/tokenizer.hpp"
#include "tools/train/learner.hpp"
#include "tools/train/options.hpp"

namespace glim {

// One part of the data, each sentence with a number (its class; 0 where there are no classes).
struct SentenceSet {
  std::vector<TokenPair> pairs;   // source: <s> and the tokens; target: the number
  std::vector<std::string> text;  // of each pair; of a sentence that was cut, what is left of it
  Index cut = 0;                  // sentences that were longer
  Index unknown = 0;              // tokens outside the vocabulary

  // A sentence of more than `longest` tokens, <s> and </s> included, is cut to it.
  void add(const Tokenizer& tokenizer, const std::string& sentence, Index number, Index longest);
};

// (B, S) ids of these sentences, in order, padded.
Tensor padded_ids(const std::vector<TokenPair>& pairs, const std::vector<std::int64_t>& rows);
// (B,) their numbers.
Tensor numbers_of(const std::vector<TokenPair>& pairs, const std::vector<std::int64_t>& rows);

class SentenceBatches {
 public:
  SentenceSet train, valid;

  const SentenceSet& part(Split split) const { return split == Split::Train ? train : valid; }
  Index begin(Split split, const TrainOptions& options, Index epoch) {
    return batches_.begin(split, part(split).pairs, options, epoch);
  }
  const std::vector<std::int64_t>& rows(Split split, Index batch) const {
    return batches_.rows(split, batch);
  }
  // The pair that Learner::probe takes.
  std::pair<Split, std::int64_t> probe(Index i) const;
  std::string fingerprint() const;

 private:
  EpochBatches batches_;
};

// A description of the data, in one line or more.
std::vector<std::string> describe(const SentenceBatches& data, const Tokenizer& tokenizer);

}  // namespace glim
