// Sentences as the encoder-only models read them, <s> x_1 … x_n </s>, and their batches.
#pragma once

#include <string>
#include <vector>

#include "models/tokenizers/tokenizer.hpp"
#include "tensor/tensor.hpp"
#include "tools/data/corpus/batches.hpp"
#include "tools/kinds/fingerprint.hpp"
#include "tools/kinds/learner.hpp"
#include "tools/kinds/options.hpp"

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

// Each token is <unk> with this probability: a label must not depend on one word (Iyyer et al. 2015, section 3.1 "word
// dropout").
Tensor with_words_dropped(const Tensor& ids, double share);

// A learner of sentences, each a row.
class SentenceLearner : public Learner {
 public:
  using Learner::Learner;
  std::string fingerprint() const override { return fingerprint_of(train_.pairs); }
  std::vector<std::string> summary() const override;
  bool is_unsplit() const override;

 protected:
  const std::vector<TokenPair>& pairs(Split split) const {
    return (split == Split::Train ? train_ : valid_).pairs;
  }
  std::vector<Rows> draw(Split split, Index epoch) const override {
    return draw_pairs(split, pairs(split), options_, epoch);
  }
  Index probe_count(Split split) const override { return std::ssize(pairs(split)); }

  TokenizerPtr tokenizer_;
  SentenceSet train_, valid_;
};

}  // namespace glim
