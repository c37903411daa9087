#include "tools/text/char_tokenizer.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "tensor/error.hpp"
#include "tools/text/utf8.hpp"

namespace glim {

CharTokenizer::CharTokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  for (const std::string& token : vocabulary_.tokens()) {
    if (code_points(token).size() != 1) {
      throw ValueError("tokenizer", fmt::format("\"{}\" is not one character", token));
    }
  }
}

TokenizerPtr CharTokenizer::train(const TokenizerOptions& options,
                                  std::span<const std::span<const std::string>> parts) {
  VocabularyBuilder builder;
  for (const auto& part : parts) {
    for (const std::string& line : part) {
      for (const CodePoint& c : code_points(line)) {
        builder.add(std::string_view(line).substr(c.offset, c.length));
      }
    }
  }
  return std::make_shared<CharTokenizer>(builder.build(options.min_frequency, options.max_size));
}

TokenizerPtr CharTokenizer::from_json(const nlohmann::json& json) {
  return std::make_shared<CharTokenizer>(
      Vocabulary(json.at("tokens").get<std::vector<std::string>>()));
}

std::string CharTokenizer::serialize() const {
  return nlohmann::json{{"format", "glim tokenizer"},
                        {"version", 1},
                        {"kind", "char"},
                        {"tokens", vocabulary_.tokens()}}
      .dump();
}

std::string CharTokenizer::piece(std::int64_t id) const {
  require_id(id);
  const std::string_view token = vocabulary_.token(id);
  return is_space(code_point_at(token, 0).value) ? "▁" : std::string(token);
}

std::vector<std::int64_t> CharTokenizer::encode_valid(std::string_view line) const {
  std::vector<std::int64_t> ids;
  bool blank = true;
  for (const CodePoint& c : code_points(line)) {
    ids.push_back(vocabulary_.id(line.substr(c.offset, c.length)));
    blank = blank && is_space(c.value);
  }
  if (blank) ids.clear();
  return ids;
}

std::string CharTokenizer::decode_plain(std::span<const std::int64_t> ids) const {
  std::string text;
  for (std::int64_t id : ids) text += vocabulary_.token(id);
  return text;
}

}  // namespace glim
