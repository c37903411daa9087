// Numbers for the words of a sentence that a model may copy to its output (nn/attention/pointer_generator.hpp).
//
//   output column   0 … V-1   tokens of the target vocabulary
//                   V …       tokens of this sentence that are not in the vocabulary, in order of first
//                             appearance; equal tokens share a column
//
// "Tanvir likes tea" with a target vocabulary of Chinese characters: Tanvir is V, likes V+1, tea V+2,
// </s> stays </s>. A target token is numbered in the same way: by the vocabulary, else by the
// sentence's own columns, else <unk>.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/decoding/sequence_model.hpp"
#include "models/tokenizers/by_vocabulary.hpp"

namespace glim {

struct CopyNumbers {
  std::vector<std::int64_t> source;  // the column of each source token, without </s>
  std::vector<std::int64_t> target;  // the numbers of the target tokens, without </s>
  std::vector<std::string> words;    // words of the columns V, V+1, …
};

// Numbers sentences for one pair of tokenisers, which must outlive it. ValueError for a
// SentencePiece tokeniser, whose pieces are not words of the text.
class CopyNumbering {
 public:
  explicit CopyNumbering(const TokenizerPair& tokenizers);
  // The numbers of the first `most` tokens.
  CopyNumbers number(std::string_view source, std::size_t most = std::string::npos) const;
  CopyNumbers number(std::string_view source, std::string_view target) const;
  // As Tokenizer::decode, ids from V on being `words`. IndexError outside both.
  std::string decode(const std::vector<std::int64_t>& ids,
                     const std::vector<std::string>& words) const;
  // The tokens of a source line, as it has them.
  std::vector<std::string> source_pieces(std::string_view line) const {
    return source_.tokens(line);
  }
  // The token of an id as a picture shows it.
  std::string piece(std::int64_t id, const std::vector<std::string>& words) const;

 private:
  const VocabularyTokenizer &source_, &target_;
};

// Gives a batch its copy_ids and extra columns, the most that a sentence needs; numbers[i] belongs to row i. </s> and
// <pad> have their own numbers. Returns the targets (B, T).
Tensor number_words(SourceBatch& batch, const std::vector<const CopyNumbers*>& numbers);

}  // namespace glim
