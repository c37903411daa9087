#include "models/pipeline/copying.hpp"

#include <algorithm>
#include <fmt/format.h>

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

}  // namespace

CopyNumbering::CopyNumbering(const TokenizerPair& tokenizers)
    : source_(of_words(tokenizers.source)), target_(of_words(tokenizers.target)) {}

CopyNumbers CopyNumbering::number(std::string_view source, std::size_t most) const {
  CopyNumbers n;
  for (const std::string& token : source_.tokens(source)) {
    if (n.source.size() == most) break;
    std::int64_t id = target_.vocabulary().id(token);
    if (id == kUnk) {
      const auto at = std::ranges::find(n.words, token);
      id = target_.size() + (at - n.words.begin());
      if (at == n.words.end()) n.words.push_back(token);
    }
    n.source.push_back(id);
  }
  return n;
}

CopyNumbers CopyNumbering::number(std::string_view source, std::string_view target) const {
  CopyNumbers n = number(source);
  for (const std::string& token : target_.tokens(target)) {
    std::int64_t id = target_.vocabulary().id(token);
    if (id == kUnk) {
      const auto at = std::ranges::find(n.words, token);
      if (at != n.words.end()) id = target_.size() + (at - n.words.begin());
    }
    n.target.push_back(id);
  }
  return n;
}

std::string CopyNumbering::piece(std::int64_t id, const std::vector<std::string>& words) const {
  if (id < target_.size()) return target_.piece(id);
  const auto at = static_cast<std::size_t>(id - target_.size());
  if (at >= words.size()) {
    throw IndexError("copying", fmt::format("token {} outside 0..{}", id,
                                            target_.size() + std::ssize(words) - 1));
  }
  return words[at];
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

CopyBatch make_copy_batch(const std::vector<const CopyNumbers*>& numbers) {
  std::vector<const std::vector<std::int64_t>*> sources, targets;
  CopyBatch out;
  for (const CopyNumbers* n : numbers) {
    sources.push_back(&n->source);
    targets.push_back(&n->target);
    out.extra = std::max<std::int64_t>(out.extra, std::ssize(n->words));
  }
  out.source = padded_rows(sources, false, true);
  out.target_out = padded_rows(targets, false, true);
  return out;
}

}  // namespace glim
