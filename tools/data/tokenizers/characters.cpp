#include "tools/data/tokenizers/characters.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "tensor/error.hpp"
#include "tools/common/utf8.hpp"

namespace glim {

CharTokenizer::CharTokenizer(Vocabulary vocabulary)
    : VocabularyTokenizer(std::move(vocabulary), "is not one character",
                          [](const std::string& token) { return code_points(token).size() == 1; }) {
}

TokenizerPtr CharTokenizer::train(const TokenizerOptions& options, TrainingText parts) {
  auto each = [](std::string_view line, const auto& take) {
    for (const CodePoint& c : code_points(line)) take(line.substr(c.offset, c.length));
  };
  return std::make_shared<CharTokenizer>(trained_vocabulary(options, parts, each));
}

TokenizerPtr CharTokenizer::from_json(const nlohmann::json& json) {
  return std::make_shared<CharTokenizer>(vocabulary_from(json));
}

std::string CharTokenizer::piece(std::int64_t id) const {
  const std::string token = VocabularyTokenizer::piece(id);
  return is_space(code_point_at(token, 0).value) ? "▁" : token;
}

std::vector<std::string> CharTokenizer::split(std::string_view line) const {
  std::vector<std::string> tokens;
  bool blank = true;
  for (const CodePoint& c : code_points(line)) {
    tokens.emplace_back(line.substr(c.offset, c.length));
    blank = blank && is_space(c.value);
  }
  if (blank) tokens.clear();
  return tokens;
}

std::vector<std::int64_t> CharTokenizer::encode_valid_text(std::string_view text) const {
  std::vector<std::int64_t> ids;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    ids.push_back(vocabulary().id(text.substr(c.offset, c.length)));
    at += c.length;
  }
  return ids;
}

std::string CharTokenizer::join(const std::vector<std::string>& tokens) const {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

}  // namespace glim
