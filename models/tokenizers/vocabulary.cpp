#include "models/tokenizers/vocabulary.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"

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

}  // namespace glim
