// Tokenisers whose tokens are pieces of the text itself, numbered by a Vocabulary: word, char, mixed.
// They know the text of a token that has no number, which copying needs (copying.hpp).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tools/data/tokenizers/tokenizer.hpp"

namespace glim {

using TrainingText = std::span<const std::span<const std::string>>;

// Of the tokens that each(line, take) hands to `take`.
template <class Each>
Vocabulary trained_vocabulary(const TokenizerOptions& options, TrainingText parts,
                              const Each& each) {
  VocabularyBuilder builder;
  for (const auto& part : parts)
    for (const std::string& line : part)
      each(line, [&](std::string_view token) { builder.add(token); });
  return builder.build(options.min_frequency, options.max_size);
}
// Of a tokenizer's JSON.
Vocabulary vocabulary_from(const nlohmann::json& json);

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
  // ValueError with this problem for a token of the vocabulary that is not one(token).
  VocabularyTokenizer(Vocabulary vocabulary, const char* problem,
                      bool (*one)(const std::string& token));
  virtual std::vector<std::string> split(std::string_view valid_line) const = 0;

 private:
  std::vector<std::int64_t> encode_valid(std::string_view line) const override;
  std::string decode_plain(std::span<const std::int64_t> ids) const override;

  Vocabulary vocabulary_;
};

}  // namespace glim
