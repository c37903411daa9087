#include "tools/data/tokenizers/by_vocabulary.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/common/utf8.hpp"

namespace glim {

Vocabulary vocabulary_from(const nlohmann::json& json) {
  return Vocabulary(json.at("tokens").get<std::vector<std::string>>());
}

VocabularyTokenizer::VocabularyTokenizer(Vocabulary vocabulary, const char* problem,
                                         bool (*one)(const std::string& token))
    : vocabulary_(std::move(vocabulary)) {
  for (const std::string& token : vocabulary_.tokens())
    if (!one(token)) throw ValueError("tokenizer", fmt::format("\"{}\" {}", token, problem));
}

std::vector<std::string> VocabularyTokenizer::tokens(std::string_view line) const {
  require_utf8(line, "tokenizer");
  return split(line);
}

std::string VocabularyTokenizer::piece(std::int64_t id) const {
  require_id(id);
  return std::string(vocabulary_.token(id));
}

std::string VocabularyTokenizer::serialize() const {
  return nlohmann::json{{"format", "glim tokenizer"},
                        {"version", 1},
                        {"kind", kind()},
                        {"tokens", vocabulary_.tokens()}}
      .dump();
}

std::vector<std::int64_t> VocabularyTokenizer::encode_valid(std::string_view line) const {
  std::vector<std::int64_t> ids;
  for (const std::string& token : split(line)) ids.push_back(vocabulary_.id(token));
  return ids;
}

std::string VocabularyTokenizer::decode_plain(std::span<const std::int64_t> ids) const {
  std::vector<std::string> list;
  for (std::int64_t id : ids) list.emplace_back(vocabulary_.token(id));
  return join(list);
}

}  // namespace glim
