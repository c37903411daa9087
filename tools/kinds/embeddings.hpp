// Word vectors that were trained elsewhere, as the first values of a new model's embeddings.
//
//   word2vec   a first line "WORDS WIDTH", then a word and its numbers a line
//   GloVe      the same without the first line
//
// A word may have spaces, as a few of GloVe's have: its numbers are the last of the line. Of a word that comes twice the
// first counts. Words are compared with the vocabulary's tokens as they are written.
#pragma once

#include <string>

#include "models/tokenizers/tokenizer.hpp"
#include "nn/embedding.hpp"

namespace glim {

// The model's table of token vectors, of two the source's.
Embedding& token_embeddings(Module& model);

// Gives the rows of the tokens that are in the file its vectors; the others stay. Returns how many there were. FileError
// naming file and line for a line with another number of numbers than the table is wide (`width_option` sets that), for
// what is no number, and for a file that is cut short or has no token of the vocabulary.
Index load_embeddings(const std::string& path, const Tokenizer& tokenizer, Tensor table,
                      const std::string& width_option);

}  // namespace glim
