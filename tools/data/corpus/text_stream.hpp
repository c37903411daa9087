// Tokens to text as they come, for output that is read while it is made.
//
// push() gives the characters that a token completes: bytes of a character that is not whole yet
// wait for the next token, so that what is printed is valid UTF-8 at any moment. All that was
// pushed comes out as Tokenizer::encode_text took it.
#pragma once

#include <string>

#include "tools/data/tokenizers/tokenizer.hpp"

namespace glim {

class TextStream {
 public:
  explicit TextStream(TokenizerPtr tokenizer) : tokenizer_(std::move(tokenizer)) {}
  std::string push(std::int64_t id);

 private:
  TokenizerPtr tokenizer_;
  std::vector<std::int64_t> line_;  // since the last line end
  std::size_t printed_ = 0;         // bytes of it that came out
};

}  // namespace glim
