#include "models/tokenizers/by_vocabulary.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"

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
bool is_run(std::string_view token) { return !stands_alone(code_point_at(token, 0).value); }

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t position = 0; position < text.size(); position += characters.back().size())
    characters.push_back(text.substr(position, code_point_at(text, position).length));
  return characters;
}

std::vector<std::string_view> runs_and_characters(std::string_view line) {
  std::vector<std::string_view> tokens;
  for (std::string_view run : split_spaces(line)) {
    std::size_t begin = 0;  // start of a token that goes on
    for (const CodePoint& c : code_points(run)) {
      if (!stands_alone(c.value)) continue;
      if (begin < c.offset) tokens.push_back(run.substr(begin, c.offset - begin));
      begin = c.offset + c.length;
      tokens.push_back(run.substr(c.offset, c.length));
    }
    if (begin < run.size()) tokens.push_back(run.substr(begin));
  }
  return tokens;
}

}  // namespace

struct VocabularyTokenizer::Cutting {
  std::string_view kind;
  std::vector<std::string_view> (*tokens)(std::string_view text);
  bool (*spaced)(std::string_view token);  // decode puts a space between two neighbours that are
  bool by_line;                            // a text is cut line by line
  const char* problem;                     // the problem of a text that is not one token
};

const VocabularyTokenizer::Cutting* VocabularyTokenizer::cutting(std::string_view kind) {
  static constexpr Cutting kCuttings[] = {
      {"word", split_spaces, [](std::string_view) { return true; }, true, "contains white space"},
      {"char", characters_of, [](std::string_view) { return false; }, false,
       "is not one character"},
      {"mixed", runs_and_characters, is_run, true, "is not one word or character"}};
  for (const Cutting& c : kCuttings)
    if (c.kind == kind) return &c;
  return nullptr;
}

bool VocabularyTokenizer::has(std::string_view kind) { return cutting(kind) != nullptr; }

VocabularyTokenizer::VocabularyTokenizer(std::string_view kind, Vocabulary vocabulary)
    : cutting_(*cutting(kind)), vocabulary_(std::move(vocabulary)) {
  for (const std::string& token : vocabulary_.tokens())
    if (cutting_.tokens(token) != std::vector<std::string_view>{token})
      throw ValueError("tokenizer", fmt::format("\"{}\" {}", token, cutting_.problem));
}

std::vector<std::string_view> VocabularyTokenizer::cut(std::string_view kind,
                                                       std::string_view text) {
  return cutting(kind)->tokens(text);
}

TokenizerPtr VocabularyTokenizer::from_json(std::string_view kind, const nlohmann::json& json) {
  return std::make_shared<VocabularyTokenizer>(
      kind, Vocabulary(json.at("tokens").get<std::vector<std::string>>()));
}

std::string_view VocabularyTokenizer::kind() const { return cutting_.kind; }

std::string VocabularyTokenizer::serialize() const {
  return nlohmann::json{{"format", "glim tokenizer"},
                        {"version", 1},
                        {"kind", kind()},
                        {"tokens", vocabulary_.tokens()}}
      .dump();
}

std::vector<std::string> VocabularyTokenizer::tokens(std::string_view line) const {
  require_utf8(line, "tokenizer");
  if (split_spaces(line).empty()) return {};
  const auto tokens = cutting_.tokens(line);
  return {tokens.begin(), tokens.end()};
}

std::string VocabularyTokenizer::join(const std::vector<std::string>& tokens) const {
  std::string text;
  bool after_spaced = false;
  for (const std::string& token : tokens) {
    const bool spaced = cutting_.spaced(token);
    if (spaced && after_spaced) text += ' ';
    text += token;
    after_spaced = spaced;
  }
  return text;
}

std::string VocabularyTokenizer::piece(std::int64_t id) const {
  require_id(id);
  const std::string_view token = vocabulary_.token(id);
  return is_space(code_point_at(token, 0).value) ? "▁" : std::string(token);
}

std::vector<std::int64_t> VocabularyTokenizer::encode_valid(std::string_view line,
                                                            std::int64_t) const {
  std::vector<std::int64_t> ids;
  for (std::string_view token : cutting_.tokens(line)) ids.push_back(vocabulary_.id(token));
  return ids;
}

std::vector<std::int64_t> VocabularyTokenizer::encode_valid_text(std::string_view text) const {
  return cutting_.by_line ? Tokenizer::encode_valid_text(text) : encode_valid(text, kAllTokens);
}

std::string VocabularyTokenizer::decode_plain(std::span<const std::int64_t> ids) const {
  std::vector<std::string> list;
  for (std::int64_t id : ids) list.emplace_back(vocabulary_.token(id));
  return join(list);
}

}  // namespace glim
