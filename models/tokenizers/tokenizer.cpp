#include "models/tokenizers/tokenizer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "models/tokenizers/by_vocabulary.hpp"
#include "models/tokenizers/byte_bpe.hpp"
#include "models/tokenizers/sentencepiece.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/io/stored_json.hpp"

namespace glim {

std::vector<std::int64_t> Tokenizer::encode(std::string_view line, std::int64_t most) const {
  require_utf8(line, "tokenizer");
  if (split_spaces(line).empty()) return {};
  return encode_valid(line, most);
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids) const {
  std::vector<std::int64_t> plain;
  plain.reserve(ids.size());
  for (std::int64_t id : ids) {
    require_id(id);
    if (id == kEos) break;
    if (id != kPad && id != kBos) plain.push_back(id);
  }
  return plain.empty() ? std::string() : decode_plain(plain);
}

std::vector<std::int64_t> Tokenizer::encode_text(std::string_view text) const {
  require_utf8(text, "tokenizer");
  return encode_valid_text(text);
}

std::vector<std::int64_t> Tokenizer::encode_valid_text(std::string_view text) const {
  std::vector<std::int64_t> ids;
  while (true) {
    const std::size_t end = text.find('\n');
    const std::vector<std::int64_t> line = encode_valid(text.substr(0, end), kAllTokens);
    ids.insert(ids.end(), line.begin(), line.end());
    if (end == std::string_view::npos) return ids;
    ids.push_back(kEos);
    text.remove_prefix(end + 1);
  }
}

void Tokenizer::require_id(std::int64_t id) const {
  if (id < 0 || id >= size()) {
    throw IndexError("tokenizer", fmt::format("token {} outside 0..{}", id, size() - 1));
  }
}

std::vector<std::string> unknown_parts(const Tokenizer& tokenizer, std::string_view line,
                                       std::int64_t most) {
  auto has_unknown = [](const std::vector<std::int64_t>& ids) {
    return std::ranges::find(ids, kUnk) != ids.end();
  };
  std::vector<std::string> unknown;
  if (!has_unknown(tokenizer.encode(line, most))) return unknown;
  std::unordered_set<std::string> set;
  const auto* words = dynamic_cast<const VocabularyTokenizer*>(&tokenizer);
  if (words == nullptr) {
    for (const CodePoint& c : code_points(line)) {
      std::string character(line.substr(c.offset, c.length));
      if (set.insert(character).second && has_unknown(tokenizer.encode(character)))
        unknown.push_back(std::move(character));
    }
    return unknown;
  }
  std::vector<std::string> tokens = words->tokens(line);
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(most)));
  for (const std::string& token : tokens)
    if (!words->vocabulary().contains(token) && set.insert(token).second) unknown.push_back(token);
  return unknown;
}

std::string unknown_part(const Tokenizer& tokenizer, std::string_view text) {
  const auto parts = unknown_parts(tokenizer, text, std::ssize(text));
  return parts.empty() || parts[0] == "\n" ? "a line end" : "'" + parts[0] + "'";
}

TokenizerPtr deserialize_tokenizer(std::string_view text, const std::string& where) {
  auto fail = [&](const std::string& problem) {
    return FileError("tokenizer", where + ": " + problem);
  };
  const auto json = parse_json(text, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw fail("not valid JSON");
  if (!json.is_object() || json.value("format", nlohmann::json()) != "glim tokenizer") {
    throw fail("not a tokenizer");
  }
  if (json.value("version", nlohmann::json()) != 1) throw fail("of an unknown version");
  const auto kind = json.value("kind", nlohmann::json());
  try {
    if (kind.is_string() && VocabularyTokenizer::has(kind.get<std::string>()))
      return VocabularyTokenizer::from_json(kind.get<std::string>(), json);
    if (kind == "byte-bpe") return ByteBpeTokenizer::from_json(json);
    if (kind == "sentencepiece") return SentencePieceTokenizer::from_json(json);
  } catch (const Error& e) {
    throw fail(e.problem());
  } catch (const nlohmann::json::exception& e) {
    throw fail(problem_of(e));
  }
  throw fail("of an unknown kind");
}

}  // namespace glim
