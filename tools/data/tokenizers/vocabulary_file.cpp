#include "tools/data/tokenizers/vocabulary_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

#include "models/tokenizers/by_vocabulary.hpp"
#include "models/tokenizers/sentencepiece.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/files.hpp"

namespace glim {
namespace {

TokenizerPtr of_lines(const TokenizerOptions& o) {
  const std::string& path = o.vocabulary_file;
  std::vector<std::string> lines = read_lines(path), tokens;
  std::unordered_map<std::string, std::size_t> first;  // line of each token
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string where = fmt::format("{}:{}", path, i + 1), &token = lines[i];
    if (token.empty()) throw FileError(where, "an empty line: each line must be a token");
    if (std::ranges::find(kSpecialNames, token) != std::end(kSpecialNames)) continue;
    auto [entry, fresh] = first.emplace(token, i + 1);
    if (!fresh)
      throw FileError(where, fmt::format("'{}' is in line {} already", token, entry->second));
    tokens.push_back(token);
    try {
      VocabularyTokenizer(o.kind, Vocabulary({token}));
    } catch (const ValueError& e) {
      throw FileError(
          where, fmt::format("{}, so that it is no token of --tokenizer {}", e.problem(), o.kind));
    }
  }
  if (tokens.empty()) throw FileError(path, "has no token");
  return std::make_shared<VocabularyTokenizer>(o.kind, Vocabulary(std::move(tokens)));
}

}  // namespace

TokenizerPtr tokenizer_of_file(const TokenizerOptions& o) {
  const std::string& path = o.vocabulary_file;
  // A model begins with its field 1, of tag 0x0A; a list of tokens does not begin with an empty line.
  if (read_file(path, "vocabulary").rfind('\n', 0) != 0) {
    if (o.kind == "sentencepiece")
      throw FileError(path, "is not a SentencePiece model, which spm_train writes as FILE.model");
    return of_lines(o);
  }
  try {
    return std::make_shared<SentencePieceTokenizer>(read_file(path, "vocabulary"));
  } catch (const ValueError& e) {
    throw FileError(path, e.problem() +
                              " (spm_train --pad_id=0 --bos_id=1 --eos_id=2 --unk_id=3 "
                              "--normalization_rule_name=identity makes one that is)");
  }
}

}  // namespace glim
