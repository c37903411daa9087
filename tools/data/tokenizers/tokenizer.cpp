#include "tools/data/tokenizers/tokenizer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/common/utf8.hpp"
#include "tools/data/corpus/files.hpp"
#include "tools/data/corpus/stored_json.hpp"
#include "tools/data/tokenizers/byte_bpe.hpp"
#include "tools/data/tokenizers/characters.hpp"
#include "tools/data/tokenizers/mixed.hpp"
#include "tools/data/tokenizers/sentencepiece.hpp"
#include "tools/data/tokenizers/vocabulary_file.hpp"
#include "tools/data/tokenizers/words.hpp"

namespace glim {

std::vector<std::int64_t> Tokenizer::encode(std::string_view line) const {
  require_utf8(line, "tokenizer");
  return encode_valid(line);
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view line, std::int64_t most) const {
  require_utf8(line, "tokenizer");
  return encode_beginning(line, most);
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
    const std::vector<std::int64_t> line = encode_valid(text.substr(0, end));
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
  std::unordered_set<std::string> seen;
  const auto* words = dynamic_cast<const VocabularyTokenizer*>(&tokenizer);
  if (words == nullptr) {
    for (const CodePoint& c : code_points(line)) {
      std::string character(line.substr(c.offset, c.length));
      if (seen.insert(character).second && has_unknown(tokenizer.encode(character)))
        unknown.push_back(std::move(character));
    }
    return unknown;
  }
  std::vector<std::string> tokens = words->tokens(line);
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(most)));
  for (const std::string& token : tokens)
    if (!words->vocabulary().contains(token) && seen.insert(token).second) unknown.push_back(token);
  return unknown;
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
    if (kind == "word") return WordTokenizer::from_json(json);
    if (kind == "char") return CharTokenizer::from_json(json);
    if (kind == "mixed") return MixedTokenizer::from_json(json);
    if (kind == "byte-bpe") return ByteBpeTokenizer::from_json(json);
    if (kind == "sentencepiece") return SentencePieceTokenizer::from_json(json);
  } catch (const Error& e) {
    throw fail(e.problem());
  } catch (const nlohmann::json::exception& e) {
    throw fail(problem_of(e));
  }
  throw fail("of an unknown kind");
}

namespace {

TokenizerPtr train_on(const TokenizerOptions& o,
                      std::span<const std::span<const std::string>> parts) {
  if (o.kind != "word" && o.kind != "char" && o.kind != "mixed" && o.kind != "sentencepiece") {
    throw ValueError(
        "tokenizer",
        fmt::format("unknown kind \"{}\": word, char, mixed or sentencepiece", o.kind));
  }
  if (o.fold && o.kind != "word") {
    throw ValueError("tokenizer", fmt::format("fold works on words, not on {} tokens", o.kind));
  }
  if (!o.vocabulary_file.empty()) return tokenizer_of_file(o);
  for (const auto& part : parts) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (auto bad = first_invalid_utf8(part[i])) {
        throw ValueError("tokenizer", fmt::format("training line {}: {}", i + 1,
                                                  describe_invalid_utf8(part[i], *bad)));
      }
    }
  }
  const bool blank = std::ranges::all_of(parts, [](const auto& part) {
    return std::ranges::all_of(part, [](const auto& line) { return split_spaces(line).empty(); });
  });
  if (blank) throw ValueError("tokenizer", "no text to learn a vocabulary from");
  if (o.kind == "word") return WordTokenizer::train(o, parts);
  if (o.kind == "char") return CharTokenizer::train(o, parts);
  if (o.kind == "mixed") return MixedTokenizer::train(o, parts);
  return SentencePieceTokenizer::train(o, parts);
}

}  // namespace

TokenizerPtr train_tokenizer(const TokenizerOptions& options, std::span<const std::string> lines) {
  const std::span<const std::string> parts[] = {lines};
  return train_on(options, parts);
}

TokenizerPair train_tokenizers(const TokenizerOptions& source, const TokenizerOptions& target,
                               std::span<const std::string> source_lines,
                               std::span<const std::string> target_lines) {
  return {train_tokenizer(source, source_lines), train_tokenizer(target, target_lines)};
}

TokenizerPair train_shared_tokenizer(const TokenizerOptions& options,
                                     std::span<const std::string> source_lines,
                                     std::span<const std::string> target_lines) {
  const std::span<const std::string> parts[] = {source_lines, target_lines};
  TokenizerPtr shared = train_on(options, parts);
  return {shared, shared};
}

}  // namespace glim
