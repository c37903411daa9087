#include "tools/data/corpus/copying.hpp"

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

CopyBatch make_copy_batch(const std::vector<const CopyNumbers*>& numbers, const Batch& batch,
                          const BatchOptions& options) {
  const auto rows = static_cast<std::size_t>(batch.size);
  const auto s = static_cast<std::size_t>(batch.source_length);
  const auto t = static_cast<std::size_t>(batch.target_length);
  CopyBatch out;
  out.source.assign(rows * s, kPad);
  out.target_out.assign(rows * t, kPad);
  for (std::size_t b = 0; b < rows; ++b) {
    const CopyNumbers& n = *numbers.at(b);
    out.extra = std::max(out.extra, static_cast<std::int64_t>(std::ssize(n.words)));
    const std::size_t end = options.source_eos ? 1 : 0;
    const std::size_t own = std::min(n.source.size(), s - end);
    std::copy_n(n.source.begin(), own, out.source.begin() + static_cast<std::ptrdiff_t>(b * s));
    if (end == 1) out.source[b * s + own] = kEos;
    if (t == 0) continue;
    std::ranges::copy(n.target, out.target_out.begin() + static_cast<std::ptrdiff_t>(b * t));
    out.target_out[b * t + n.target.size()] = kEos;
  }
  return out;
}

}  // namespace glim
