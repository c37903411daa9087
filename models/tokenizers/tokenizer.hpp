// Text to token numbers and back.
//
//   kind           a token is                      decode joins with   numbers come from
//   word           a run without white space       one space           Vocabulary
//   char           a code point, spaces included   nothing             Vocabulary
//   mixed          a Chinese character, or a run   see by_vocabulary   Vocabulary
//   sentencepiece  a piece learned from the text   what the pieces say SentencePiece (unigram or BPE)
//   byte-bpe       bytes, merged: GPT-2's          nothing             the imported vocabulary
//
// All kinds share the special numbers of vocabulary.hpp. A tokeniser is immutable, is trained on
// training data only, and turns into a string (JSON) and back, so that a checkpoint can carry it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/vocabulary.hpp"

namespace glim {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Numbers of the tokens of one line, without <s> and </s>; empty for a blank line. A token outside
  // the vocabulary is kUnk. ValueError when the line is not valid UTF-8.
  // `most` is for callers that use no more tokens. Of a longer line only the first 4 `most` tokens may be
  // encoded. The first `most` tokens equal the whole line's, except that a run of one repeated character
  // may be split differently.
  std::vector<std::int64_t> encode(std::string_view line, std::int64_t most = kAllTokens) const;

  // The text of `ids` up to the first </s>; <pad> and <s> are left out, <unk> is printed as such.
  // IndexError for a number outside the vocabulary.
  std::string decode(std::span<const std::int64_t> ids) const;
  std::string decode(const std::vector<std::int64_t>& ids) const {
    return decode(std::span<const std::int64_t>(ids));
  }

  // A text of several lines as one sequence: all characters, line ends too, or the tokens of each line
  // with </s> for its end. Errors as above. TextStream gives the text back.
  std::vector<std::int64_t> encode_text(std::string_view text) const;

  virtual std::int64_t size() const = 0;
  // The token as a picture shows it: spaces visible as "▁", special tokens by name.
  virtual std::string piece(std::int64_t id) const = 0;
  virtual std::string_view kind() const = 0;
  // The token after which a text is at its end, if there is one.
  virtual std::optional<std::int64_t> end_of_text() const { return {}; }

  virtual std::string serialize() const = 0;

 protected:
  static constexpr std::int64_t kAllTokens = std::numeric_limits<std::int64_t>::max();
  Tokenizer() = default;
  void require_id(std::int64_t id) const;
  virtual std::vector<std::int64_t> encode_valid_text(std::string_view text) const;

 private:
  virtual std::vector<std::int64_t> encode_valid(std::string_view line,
                                                 std::int64_t most) const = 0;
  // `ids` has neither <pad>, <s> nor </s>, and is inside the vocabulary.
  virtual std::string decode_plain(std::span<const std::int64_t> ids) const = 0;
};

using TokenizerPtr = std::shared_ptr<const Tokenizer>;

// Tokens of a line's first `most` that the vocabulary lacks, each once: tokens, or characters of the line
// where tokens are learned pieces.
std::vector<std::string> unknown_parts(const Tokenizer& tokenizer, std::string_view line,
                                       std::int64_t most);
// The first that the vocabulary lacks of a text that has such a token: "'x'" or "a line end".
std::string unknown_part(const Tokenizer& tokenizer, std::string_view text);

// Reads a text of serialize(). FileError, naming `where`, for any other text.
TokenizerPtr deserialize_tokenizer(std::string_view text, const std::string& where = "tokenizer");

struct TokenizerPair {
  TokenizerPtr source, target;  // one and the same object when shared
};

}  // namespace glim
