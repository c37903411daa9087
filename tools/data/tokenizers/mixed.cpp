#include "tools/data/tokenizers/mixed.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "tensor/error.hpp"
#include "tools/common/utf8.hpp"

namespace glim {
namespace {

// Blocks of the Unicode Standard whose characters are words, or are between them, on their own.
bool stands_alone(std::uint32_t c) {
  return (c >= 0x2E80 && c <= 0x312F) ||  // radicals, CJK punctuation, kana, bopomofo
         (c >= 0x31A0 && c <= 0x9FFF) ||  // bopomofo extended ... unified ideographs
         (c >= 0xF900 && c <= 0xFAFF) ||  // compatibility ideographs
         (c >= 0xFE30 && c <= 0xFE4F) ||  // compatibility forms
         (c >= 0xFF00 && c <= 0xFFEF) ||  // half-width and full-width forms
         (c >= 0x20000 && c <= 0x323AF);  // ideographs of the supplementary planes
}

std::vector<std::string> split_mixed(std::string_view line) {
  std::vector<std::string> tokens;
  bool open = false;  // the last token is a run that goes on
  for (const CodePoint& c : code_points(line)) {
    const std::string_view text = line.substr(c.offset, c.length);
    if (is_space(c.value)) {
      open = false;
    } else if (stands_alone(c.value)) {
      tokens.emplace_back(text);
      open = false;
    } else if (open) {
      tokens.back() += text;
    } else {
      tokens.emplace_back(text);
      open = true;
    }
  }
  return tokens;
}

bool is_run(const std::string& token) { return !stands_alone(code_point_at(token, 0).value); }

}  // namespace

MixedTokenizer::MixedTokenizer(Vocabulary vocabulary)
    : VocabularyTokenizer(std::move(vocabulary), "is not one word or character",
                          [](const std::string& token) {
                            return split_mixed(token) == std::vector<std::string>{token};
                          }) {}

TokenizerPtr MixedTokenizer::train(const TokenizerOptions& options, TrainingText parts) {
  return std::make_shared<MixedTokenizer>(
      trained_vocabulary(options, parts, [](const std::string& line, const auto& take) {
        for (const std::string& token : split_mixed(line)) take(token);
      }));
}

TokenizerPtr MixedTokenizer::from_json(const nlohmann::json& json) {
  return std::make_shared<MixedTokenizer>(vocabulary_from(json));
}

std::vector<std::string> MixedTokenizer::split(std::string_view line) const {
  return split_mixed(line);
}

std::string MixedTokenizer::join(const std::vector<std::string>& tokens) const {
  std::string text;
  bool after_run = false;
  for (const std::string& token : tokens) {
    if (token.empty()) continue;
    const bool run = is_run(token);
    if (run && after_run) text += ' ';
    text += token;
    after_run = run;
  }
  return text;
}

}  // namespace glim
