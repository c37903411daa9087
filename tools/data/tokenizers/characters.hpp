// A token is one code point, spaces included: decode(encode(line)) is the line itself when all its
// characters are in the vocabulary. A blank line has no tokens, while a text of lines keeps all of
// its white space.
#pragma once

#include "tools/data/tokenizers/by_vocabulary.hpp"

namespace glim {

class CharTokenizer final : public VocabularyTokenizer {
 public:
  explicit CharTokenizer(Vocabulary vocabulary);

  static TokenizerPtr train(const TokenizerOptions& options, TrainingText parts);
  static TokenizerPtr from_json(const nlohmann::json& json);

  std::string piece(std::int64_t id) const override;
  std::string_view kind() const override { return "char"; }
  std::string join(const std::vector<std::string>& tokens) const override;

 private:
  std::vector<std::string> split(std::string_view line) const override;
  std::vector<std::int64_t> encode_valid_text(std::string_view text) const override;
};

}  // namespace glim
