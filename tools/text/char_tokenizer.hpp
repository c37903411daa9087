// A token is one code point, spaces included: decode(encode(line)) is the line itself when all its
// characters are in the vocabulary. A blank line has no tokens.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/text/tokenizer.hpp"

namespace glim {

class CharTokenizer final : public Tokenizer {
 public:
  explicit CharTokenizer(Vocabulary vocabulary);

  static TokenizerPtr train(const TokenizerOptions& options,
                            std::span<const std::span<const std::string>> parts);
  static TokenizerPtr from_json(const nlohmann::json& json);

  std::int64_t size() const override { return vocabulary_.size(); }
  std::string piece(std::int64_t id) const override;
  std::string_view kind() const override { return "char"; }
  std::string serialize() const override;

 private:
  std::vector<std::int64_t> encode_valid(std::string_view line) const override;
  std::string decode_plain(std::span<const std::int64_t> ids) const override;

  Vocabulary vocabulary_;
};

}  // namespace glim
