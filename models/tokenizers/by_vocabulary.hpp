// Tokenizers whose tokens are pieces of the text itself, numbered by a Vocabulary. They know the text of a token that
// has no number, which copying needs (copying.hpp).
//
//   word    a run without white space (see is_space); decode puts one space between two tokens
//   char    a code point, spaces included; decode joins them as they are
//   mixed   for lines that mix Chinese or Japanese with other scripts: "Tom昨天买了3本书" is Tom 昨 天 买 了 3 本 书.
//           CJK ideographs and their extensions, kana, bopomofo, CJK punctuation and full-width forms are tokens of one
//           character, and so is a run of anything else without white space. decode puts a space between two runs
//
// A blank line has no tokens. decode(encode(line)) is the line itself (char), or the line without needless spaces, where
// all tokens are in the vocabulary; the others are "<unk>".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/tokenizers/tokenizer.hpp"

namespace glim {

class VocabularyTokenizer final : public Tokenizer {
 public:
  static bool has(std::string_view kind);
  // The tokens of valid UTF-8, as a tokenizer of this kind cuts it.
  static std::vector<std::string_view> cut(std::string_view kind, std::string_view text);
  // ValueError for a token of the vocabulary that is not one token of this kind.
  VocabularyTokenizer(std::string_view kind, Vocabulary vocabulary);
  static TokenizerPtr from_json(std::string_view kind, const nlohmann::json& json);

  // The tokens of a line as text, one for each number that encode gives. ValueError when the line
  // is not valid UTF-8.
  std::vector<std::string> tokens(std::string_view line) const;
  // The text that these tokens make: what decode prints.
  std::string join(const std::vector<std::string>& tokens) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::int64_t size() const override { return vocabulary_.size(); }
  std::string piece(std::int64_t id) const override;
  std::string_view kind() const override;
  std::string serialize() const override;

 private:
  struct Cutting;
  static const Cutting* cutting(std::string_view kind);
  std::vector<std::int64_t> encode_valid(std::string_view line, std::int64_t) const override;
  // Where tokens are characters, a line end is a token, too.
  std::vector<std::int64_t> encode_valid_text(std::string_view text) const override;
  std::string decode_plain(std::span<const std::int64_t> ids) const override;

  const Cutting& cutting_;
  Vocabulary vocabulary_;
};

}  // namespace glim
