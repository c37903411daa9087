// A token is a run without white space (see is_space); decode joins with one space, so that
// decode(encode(line)) is the line with its white space normalised and unknown words as "<unk>".
#pragma once

#include "tools/data/tokenizers/by_vocabulary.hpp"

namespace glim {

class WordTokenizer final : public VocabularyTokenizer {
 public:
  // With `fold`, lines and vocabulary are lower case, and the punctuation . , ; : ! ? and its
  // full-width forms is dropped at the end of a word.
  explicit WordTokenizer(Vocabulary vocabulary, bool fold = false);

  static TokenizerPtr train(const TokenizerOptions& options, TrainingText parts);
  static TokenizerPtr from_json(const nlohmann::json& json);

  std::string_view kind() const override { return "word"; }
  std::string serialize() const override;
  std::string join(const std::vector<std::string>& tokens) const override;

 private:
  std::vector<std::string> split(std::string_view line) const override;

  bool fold_;
};

}  // namespace glim
