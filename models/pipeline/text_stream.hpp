// Tokens to text, one at a time, for output that is read while it is generated.
//
// push() returns the characters that a token completes. Bytes of an incomplete character wait for the next
// token, so the printed text is valid UTF-8 at any moment. The whole text is the one that
// Tokenizer::encode_text was given.
#pragma once

#include <string>

#include "models/tokenizers/tokenizer.hpp"

namespace glim {

class TextStream {
 public:
  explicit TextStream(TokenizerPtr tokenizer) : tokenizer_(std::move(tokenizer)) {}
  std::string push(std::int64_t id);
  // The bytes that still wait, once no token follows. Half a character becomes U+FFFD.
  std::string rest();

 private:
  TokenizerPtr tokenizer_;
  std::vector<std::int64_t> line_;  // since the last line end
  std::size_t printed_ = 0;         // bytes of it that came out
};

}  // namespace glim
