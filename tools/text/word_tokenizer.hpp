// A token is a run without white space (see is_space); decode joins with one space, so that
// decode(encode(line)) is the line with its white space normalised and unknown words as "<unk>".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/text/tokenizer.hpp"

namespace glim {

class WordTokenizer final : public Tokenizer {
 public:
  // With `fold`, lines and vocabulary are lower case, and the punctuation . , ; : ! ? and its
  // full-width forms is dropped at the end of a word.
  explicit WordTokenizer(Vocabulary vocabulary, bool fold = false);

  static TokenizerPtr train(const TokenizerOptions& options,
                            std::span<const std::span<const std::string>> parts);
  static TokenizerPtr from_json(const nlohmann::json& json);

  std::int64_t size() const override { return vocabulary_.size(); }
  std::string piece(std::int64_t id) const override;
  std::string_view kind() const override { return "word"; }
  std::string serialize() const override;

 private:
  std::vector<std::int64_t> encode_valid(std::string_view line) const override;
  std::string decode_plain(std::span<const std::int64_t> ids) const override;

  Vocabulary vocabulary_;
  bool fold_;
};

}  // namespace glim
