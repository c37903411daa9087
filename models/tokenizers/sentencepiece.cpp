#include "models/tokenizers/sentencepiece.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sentencepiece_processor.h>
#include <utility>

#include "models/tokenizers/base64.hpp"
#include "models/tokenizers/sentencepiece_model.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"

namespace glim {
namespace {

constexpr std::size_t kLongLine = 4096;
constexpr std::size_t kUnknownRun = 16;  // characters that are left of one in a long line

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::string model, std::vector<std::string> tokens)
    : model_(std::move(model)),
      processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  if (!tokens.empty()) tokens_.emplace(std::move(tokens));
  as_it_is_ = !check_sentencepiece_model(model_, tokens_.has_value()) || tokens_;
  const auto status = processor_->LoadFromSerializedProto(model_);
  if (!status.ok()) throw ValueError("sentencepiece", status.ToString());
  longest_ = 4 * kUnknownRun;
  for (int i = 0; i < processor_->GetPieceSize(); ++i) {
    longest_ = std::max(longest_, processor_->IdToPiece(i).size());
  }
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

TokenizerPtr SentencePieceTokenizer::from_json(const nlohmann::json& json) {
  auto model = base64_decode(json.at("model").get<std::string>());
  if (!model) throw ValueError("sentencepiece", "the model is not valid base64");
  std::vector<std::string> tokens;
  if (json.contains("tokens")) json.at("tokens").get_to(tokens);
  return std::make_shared<SentencePieceTokenizer>(std::move(*model), std::move(tokens));
}

std::string SentencePieceTokenizer::serialize() const {
  nlohmann::json json{{"format", "glim tokenizer"},
                      {"version", 1},
                      {"kind", "sentencepiece"},
                      {"model", base64_encode(model_)}};
  if (tokens_) json["tokens"] = tokens_->tokens();
  return json.dump();
}

std::int64_t SentencePieceTokenizer::size() const {
  return tokens_ ? tokens_->size() : processor_->GetPieceSize();
}

std::string SentencePieceTokenizer::piece(std::int64_t id) const {
  require_id(id);
  return tokens_ ? std::string(tokens_->token(id)) : processor_->IdToPiece(static_cast<int>(id));
}

bool SentencePieceTokenizer::unknown(std::string_view character) const {
  if (!tokens_) return processor_->PieceToId(character == " " ? "▁" : character) == kUnk;
  std::vector<int> ids;  // ids of the text after the character map
  if (!processor_->Encode(character, &ids).ok()) return true;
  return std::ranges::any_of(ids, [&](int id) { return processor_->IsUnknown(id); });
}

// A long line, or its beginning that has 4 `most` tokens, without the rest of long unknown runs.
std::string SentencePieceTokenizer::beginning(std::string_view text, std::int64_t most) const {
  std::string kept;
  std::size_t run = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const std::string_view character = text.substr(i, c.length);
    run = unknown(character) ? run + 1 : 0;
    if (run <= kUnknownRun) kept += character;
    if (static_cast<std::int64_t>(kept.size() / longest_ / 4) >= most) break;
    i += c.length;
  }
  return kept;
}

std::vector<std::int64_t> SentencePieceTokenizer::encode_valid(std::string_view line,
                                                               std::int64_t most) const {
  std::vector<std::int64_t> numbers;
  if (const std::size_t end = line.find("<<");
      tokens_ && line.starts_with(">>") && end != line.npos) {
    numbers.push_back(tokens_->id(line.substr(0, end + 2)));
    line.remove_prefix(end + 2);
  }
  std::string text = as_it_is_ ? std::string(line) : normalize_spaces(line);
  if (text.size() > kLongLine) text = beginning(text, most);
  std::vector<std::string> pieces;
  std::vector<int> ids;
  const auto status = tokens_ ? processor_->Encode(text, &pieces) : processor_->Encode(text, &ids);
  if (!status.ok()) throw ValueError("sentencepiece", status.ToString());
  numbers.insert(numbers.end(), ids.begin(), ids.end());
  for (const std::string& piece : pieces) numbers.push_back(tokens_->id(piece));
  return numbers;
}

std::string SentencePieceTokenizer::decode_plain(std::span<const std::int64_t> ids) const {
  std::string text;
  auto require = [](const auto& status) {
    if (!status.ok()) throw ValueError("sentencepiece", status.ToString());
  };
  if (!tokens_) {
    require(processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text));
    return text;
  }
  // As transformers does it: <unk> is between the texts of the pieces around it, and a piece that this side's
  // model lacks is itself.
  std::vector<std::string> pieces;
  auto say = [&] {
    std::string part;
    require(processor_->Decode(pieces, &part));
    text += part;
    pieces.clear();
  };
  for (const std::int64_t id : ids) {
    if (id != kUnk) {
      pieces.emplace_back(tokens_->token(id));
      continue;
    }
    say();
    text.append(kSpecialNames[kUnk]).append(" ");
  }
  say();
  for (std::size_t i; (i = text.find("▁")) != text.npos;) text.replace(i, 3, " ");
  const auto words = split_spaces(text);
  if (words.empty()) return "";
  return {words.front().data(), words.back().data() + words.back().size()};
}

}  // namespace glim
