#include "models/pipeline/copying.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/pipeline/padded.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace {

const VocabularyTokenizer& of_words(const TokenizerPtr& tokenizer) {
  const auto* words = dynamic_cast<const VocabularyTokenizer*>(tokenizer.get());
  if (words == nullptr) {
    throw ValueError("copying", fmt::format("needs tokens that are words or characters of the text "
                                            "(word, char or mixed), not {}",
                                            tokenizer->kind()));
  }
  return *words;
}

// The number of a token of the target vocabulary, the column of one of `words`, or else kUnk.
std::int64_t column(const VocabularyTokenizer& target, const std::string& token,
                    const std::vector<std::string>& words) {
  const std::int64_t id = target.vocabulary().id(token);
  const auto entry = std::ranges::find(words, token);
  return id == kUnk && entry != words.end() ? target.size() + (entry - words.begin()) : id;
}

}  // namespace

CopyNumbering::CopyNumbering(const TokenizerPair& tokenizers)
    : source_(of_words(tokenizers.source)), target_(of_words(tokenizers.target)) {}

CopyNumbers CopyNumbering::number(std::string_view source, std::size_t most) const {
  CopyNumbers n;
  for (const std::string& token : source_.tokens(source)) {
    if (n.source.size() == most) break;
    std::int64_t id = column(target_, token, n.words);
    if (id == kUnk) {
      id = target_.size() + std::ssize(n.words);
      n.words.push_back(token);
    }
    n.source.push_back(id);
  }
  return n;
}

CopyNumbers CopyNumbering::number(std::string_view source, std::string_view target) const {
  CopyNumbers n = number(source);
  for (const std::string& token : target_.tokens(target))
    n.target.push_back(column(target_, token, n.words));
  return n;
}

std::string CopyNumbering::piece(std::int64_t id, const std::vector<std::string>& words) const {
  if (id < target_.size()) return target_.piece(id);
  const auto index = static_cast<std::size_t>(id - target_.size());
  if (index >= words.size()) {
    throw IndexError("copying", fmt::format("token {} outside 0..{}", id,
                                            target_.size() + std::ssize(words) - 1));
  }
  return words[index];
}

std::string CopyNumbering::decode(const std::vector<std::int64_t>& ids,
                                  const std::vector<std::string>& words) const {
  std::vector<std::string> tokens;
  for (std::int64_t id : ids) {
    if (id == kEos) break;
    if (id == kPad || id == kBos) continue;
    tokens.push_back(id >= 0 && id < target_.size() ? std::string(target_.vocabulary().token(id))
                                                    : piece(id, words));
  }
  return target_.join(tokens);
}

Tensor number_words(SourceBatch& batch, const std::vector<const CopyNumbers*>& numbers) {
  std::vector<const std::vector<std::int64_t>*> sources, targets;
  for (const CopyNumbers* n : numbers) {
    sources.push_back(&n->source);
    targets.push_back(&n->target);
    batch.extra = std::max<Index>(batch.extra, std::ssize(n->words));
  }
  batch.copy_ids = padded_rows(sources, false, true);
  return padded_rows(targets, false, true);
}

}  // namespace glim
