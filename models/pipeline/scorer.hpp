// The probability that a trained model gives to a text (kind gpt), or to a translation of a source (kinds that
// translate).
//
//   const Scorer scorer("model");
//   scorer.score("my source", "my target").perplexity();   // as glim evaluate has it, for one pair
//   scorer.score("a text").log_prob;                       // Σ ln P(token t+1 | tokens 1 … t)
//
// All calls are const. Several threads may use one Scorer at once, and each gets the bits that it would get alone.
//
// A text beyond the context is read in consecutive blocks, each of which begins with nothing before it, as validation
// reads it. Tokens outside the vocabulary are scored as <unk>.
//
// Errors: FileError naming the file for a folder that holds no such model; ValueError naming "source", "target" or
// "text" for one that the model cannot read.
#pragma once

#include <memory>
#include <string>

#include "models/decoding/sequence_model.hpp"
#include "models/gpt/gpt.hpp"
#include "models/pipeline/model_file.hpp"
#include "models/tokenizers/tokenizer.hpp"

namespace glim {

struct Score {
  double log_prob = 0;  // natural logarithm, summed over the tokens
  Index tokens = 0;     // that were predicted; of a translation with END
  double perplexity() const;
};

class Scorer {
 public:
  // `path`: the folder of a model, or one of its files.
  explicit Scorer(const std::string& path) : Scorer(read_model(path)) {}
  explicit Scorer(const ModelFile& file);

  Score score(const std::string& text) const;
  Score score(const std::string& source, const std::string& target) const;

 private:
  std::string file_, kind_;
  TokenizerPair tokenizers_;
  std::shared_ptr<SequenceModel> translating_;  // or
  std::shared_ptr<Gpt> language_;
};

}  // namespace glim
