// A vocabulary of the user's own instead of one that is learned from the training text.
//
//   word, char, mixed   a file of tokens, one a line, numbered from 4 on; it may have <pad>, <s>, </s> and <unk>, which
//                       are left out
//   sentencepiece       a SentencePiece model (FILE.model), known by its first byte whatever o.kind says
#pragma once

#include "tools/data/tokenizers/training.hpp"

namespace glim {

// The tokenizer of o.vocabulary_file. FileError naming the file, and the line of an empty token, of one that is there
// twice, or of one that is not of this kind; for a SentencePiece model that is numbered differently or has a
// character map, with the options that train a fitting one.
TokenizerPtr tokenizer_of_file(const TokenizerOptions& o);

}  // namespace glim
