#include "tools/data/tokenizers/words.hpp"

#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "tensor/error.hpp"
#include "tools/common/utf8.hpp"
#include "tools/data/tokenizers/casing.hpp"

namespace glim {
namespace {

constexpr std::array<std::string_view, 12> kSentencePunctuation = {
    ".", ",", ";", ":", "!", "?", "。", "，", "；", "：", "！", "？"};

std::string_view without_punctuation(std::string_view word) {
  for (bool cut = true; cut;) {
    cut = false;
    for (std::string_view mark : kSentencePunctuation) {
      if (word.ends_with(mark)) {
        word.remove_suffix(mark.size());
        cut = true;
      }
    }
  }
  return word;
}

template <class Take>
void for_each_word(std::string_view line, bool fold, Take take) {
  if (!fold) {
    for (std::string_view word : split_spaces(line)) take(word);
    return;
  }
  const std::string lower = lower_case(line);
  for (std::string_view word : split_spaces(lower)) {
    word = without_punctuation(word);
    if (!word.empty()) take(word);
  }
}

}  // namespace

WordTokenizer::WordTokenizer(Vocabulary vocabulary, bool fold)
    : VocabularyTokenizer(std::move(vocabulary), "contains white space",
                          [](const std::string& word) {
                            return split_spaces(word) == std::vector<std::string_view>{word};
                          }),
      fold_(fold) {}

TokenizerPtr WordTokenizer::train(const TokenizerOptions& options, TrainingText parts) {
  auto each = [&](const std::string& line, const auto& take) {
    for_each_word(line, options.fold, take);
  };
  return std::make_shared<WordTokenizer>(trained_vocabulary(options, parts, each), options.fold);
}

TokenizerPtr WordTokenizer::from_json(const nlohmann::json& json) {
  return std::make_shared<WordTokenizer>(vocabulary_from(json), json.at("fold").get<bool>());
}

std::string WordTokenizer::serialize() const {
  return nlohmann::json{{"format", "glim tokenizer"},
                        {"version", 1},
                        {"kind", "word"},
                        {"fold", fold_},
                        {"tokens", vocabulary().tokens()}}
      .dump();
}

std::vector<std::string> WordTokenizer::split(std::string_view line) const {
  std::vector<std::string> tokens;
  for_each_word(line, fold_, [&](std::string_view word) { tokens.emplace_back(word); });
  return tokens;
}

std::string WordTokenizer::join(const std::vector<std::string>& tokens) const {
  std::string text;
  for (const std::string& token : tokens) {
    if (!text.empty()) text += ' ';
    text += token;
  }
  return text;
}

}  // namespace glim
