// Tokenizers learned from training text: a vocabulary that is counted, or pieces that SentencePiece learns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "models/tokenizers/tokenizer.hpp"

namespace glim {

// Counts tokens and makes the vocabulary.
class VocabularyBuilder {
 public:
  void add(std::string_view token) { ++counts_[std::string(token)]; }
  // Keeps tokens seen at least `min_frequency` times, and of those the first so many that the
  // vocabulary with its special tokens has at most `max_size` entries (0: no limit). ValueError when
  // a limit is negative, or when max_size leaves no room for a token.
  Vocabulary build(std::int64_t min_frequency = 1, std::int64_t max_size = 0) const;

 private:
  std::unordered_map<std::string, std::int64_t> counts_;
};

struct TokenizerOptions {
  std::string kind = "word";  // word, char, mixed or sentencepiece
  // word, char and mixed: see VocabularyBuilder::build.
  std::int64_t min_frequency = 1, max_size = 0;
  // sentencepiece: "unigram" or "bpe", and the size of the vocabulary with the special tokens.
  std::string model = "unigram";
  std::int64_t vocabulary_size = 8000;
  // Tokens that nothing is learned for: vocabulary_file.hpp. Empty: learned.
  std::string vocabulary_file = {};
};

// ValueError for unknown or contradictory options, or when no line has a token.
TokenizerPtr train_tokenizer(const TokenizerOptions& options, std::span<const std::string> lines);

}  // namespace glim
