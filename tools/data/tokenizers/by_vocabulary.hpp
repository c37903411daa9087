// Tokenisers whose tokens are pieces of the text itself, numbered by a Vocabulary: word, char, mixed.
// They can say what a token is that has no number, which copying needs (copying.hpp).
#pragma once

#include <string>
#include <vector>

#include "tools/data/tokenizers/tokenizer.hpp"

namespace glim {

class VocabularyTokenizer : public Tokenizer {
 public:
  // The tokens of a line as text, one for each number that encode gives. ValueError when the line
  // is not valid UTF-8.
  std::vector<std::string> tokens(std::string_view line) const;
  // The text that these tokens make: what decode prints.
  virtual std::string join(const std::vector<std::string>& tokens) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::int64_t size() const override { return vocabulary_.size(); }
  std::string piece(std::int64_t id) const override;
  std::string serialize() const override;

 protected:
  explicit VocabularyTokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual std::vector<std::string> split(std::string_view valid_line) const = 0;

 private:
  std::vector<std::int64_t> encode_valid(std::string_view line) const override;
  std::string decode_plain(std::span<const std::int64_t> ids) const override;

  Vocabulary vocabulary_;
};

}  // namespace glim
