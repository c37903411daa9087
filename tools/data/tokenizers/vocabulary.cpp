#include "tools/data/tokenizers/vocabulary.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/common/utf8.hpp"
#include "tools/data/corpus/files.hpp"

namespace glim {

Vocabulary::Vocabulary(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  ids_.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& token = tokens_[i];
    const auto number = static_cast<std::int64_t>(i) + kSpecialTokens;
    if (token.empty()) throw ValueError("vocabulary", fmt::format("token {} is empty", number));
    if (auto bad = first_invalid_utf8(token)) {
      throw ValueError("vocabulary",
                       fmt::format("token {}: {}", number, describe_invalid_utf8(token, *bad)));
    }
    if (std::ranges::find(kSpecialNames, token) != std::end(kSpecialNames)) {
      throw ValueError("vocabulary",
                       fmt::format("token {} has the reserved name {}", number, token));
    }
    if (!ids_.emplace(token, number).second) {
      throw ValueError("vocabulary", fmt::format("token {} (\"{}\") occurs twice", number, token));
    }
  }
}

std::int64_t Vocabulary::id(std::string_view token) const {
  auto found = ids_.find(token);
  return found == ids_.end() ? kUnk : found->second;
}

std::string_view Vocabulary::token(std::int64_t id) const {
  if (id < 0 || id >= size()) {
    throw IndexError("vocabulary", fmt::format("token {} outside 0..{}", id, size() - 1));
  }
  if (id < kSpecialTokens) return kSpecialNames[id];
  return tokens_[static_cast<std::size_t>(id - kSpecialTokens)];
}

Vocabulary VocabularyBuilder::build(std::int64_t min_frequency, std::int64_t max_size) const {
  if (min_frequency < 0) {
    throw ValueError("vocabulary", fmt::format("min frequency {} is negative", min_frequency));
  }
  if (max_size < 0 || (max_size > 0 && max_size <= kSpecialTokens)) {
    throw ValueError(
        "vocabulary",
        fmt::format("max size {} leaves no room for a token besides the {} special ones; "
                    "0 means no limit",
                    max_size, kSpecialTokens));
  }
  std::vector<std::pair<std::string, std::int64_t>> kept;
  for (const auto& [token, count] : counts_) {
    const bool reserved = std::ranges::find(kSpecialNames, token) != std::end(kSpecialNames);
    if (count >= min_frequency && !reserved) kept.emplace_back(token, count);
  }
  std::ranges::sort(kept, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (max_size > 0 && kept.size() > static_cast<std::size_t>(max_size - kSpecialTokens)) {
    kept.resize(static_cast<std::size_t>(max_size - kSpecialTokens));
  }
  std::vector<std::string> tokens;
  tokens.reserve(kept.size());
  for (auto& [token, count] : kept) tokens.push_back(std::move(token));
  return Vocabulary(std::move(tokens));
}

}  // namespace glim
