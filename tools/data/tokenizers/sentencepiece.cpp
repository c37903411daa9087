#include "tools/data/tokenizers/sentencepiece.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tensor/error.hpp"
#include "tools/common/utf8.hpp"
#include "tools/data/corpus/base64.hpp"
#include "tools/data/tokenizers/sentencepiece_model.hpp"

namespace glim {
namespace {

constexpr std::size_t kLongLine = 4096, kLongWord = 4096;
constexpr std::size_t kUnknownRun = 16;  // characters that are left of one in a long line

class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  std::size_t at_ = 0;
};

void check_options(const TokenizerOptions& o) {
  if (o.model != "unigram" && o.model != "bpe") {
    throw ValueError("sentencepiece", fmt::format("unknown model \"{}\": unigram or bpe", o.model));
  }
  constexpr std::int64_t kMost = 1000000;
  if (o.vocabulary_size <= kSpecialTokens || o.vocabulary_size > kMost) {
    throw ValueError("sentencepiece", fmt::format("vocabulary size {} must be in {}..{}",
                                                  o.vocabulary_size, kSpecialTokens + 1, kMost));
  }
}

// The largest vocabulary that the text allows, as SentencePiece's complaint says it; 0 if that is not the complaint.
std::int64_t most_possible(const std::string& complaint) {
  static constexpr std::string_view kHint = "set it to a value <= ";
  const std::size_t at = complaint.find(kHint);
  return at == std::string::npos ? 0 : std::atoll(complaint.c_str() + at + kHint.size());
}

// The error of SentencePiece, in terms of the options that the user can change.
std::string explain(const TokenizerOptions& o, const std::string& message, std::size_t characters) {
  const auto least = static_cast<std::int64_t>(characters) + kSpecialTokens;
  if (o.vocabulary_size < least) {
    return fmt::format(
        "vocabulary size {} is too small: the text has {} different characters, {} entries with "
        "the special tokens; raise --vocabulary",
        o.vocabulary_size, characters, least);
  }
  return fmt::format(
      "no subwords can be learned from this text ({}): more text, or --tokenizer char", message);
}

// Words of at most kLongWord characters.
std::string with_long_words_cut(const std::string& words) {
  if (words.size() <= kLongWord) return words;
  std::string text;
  std::size_t length = 0;
  for (const CodePoint& c : code_points(words)) {
    length = c.value == ' ' ? 0 : length + 1;
    if (length > kLongWord) {
      text += ' ';
      length = 1;
    }
    text += words.substr(c.offset, c.length);
  }
  return text;
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::string model, std::vector<std::string> tokens)
    : model_(std::move(model)),
      processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  if (!tokens.empty()) tokens_.emplace(std::move(tokens));
  check_sentencepiece_model(model_, tokens_.has_value());
  const auto status = processor_->LoadFromSerializedProto(model_);
  if (!status.ok()) throw ValueError("sentencepiece", status.ToString());
  longest_ = 4 * kUnknownRun;
  for (int i = 0; i < processor_->GetPieceSize(); ++i) {
    longest_ = std::max(longest_, processor_->IdToPiece(i).size());
  }
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

TokenizerPtr SentencePieceTokenizer::train(const TokenizerOptions& options,
                                           std::span<const std::string> text) {
  check_options(options);
  std::vector<std::string> lines;
  std::unordered_set<std::uint32_t> characters = {0x2581};
  for (const std::string& line : text) {
    const std::string words = normalize_spaces(line);
    if (words.empty()) continue;
    for (const CodePoint& c : code_points(words)) {
      if (c.value != ' ') characters.insert(c.value);
    }
    lines.push_back(with_long_words_cut(words));
  }
  std::unordered_map<std::string, std::string> settings = {
      {"model_type", options.model},
      {"character_coverage", "1"},
      {"normalization_rule_name", "identity"},
      {"pad_id", std::to_string(kPad)},
      {"bos_id", std::to_string(kBos)},
      {"eos_id", std::to_string(kEos)},
      {"unk_id", std::to_string(kUnk)},
      {"unk_surface", "<unk>"},
      {"max_sentence_length", std::to_string(1 << 30)},
      {"num_threads", "2"},
      {"minloglevel", "3"}};
  std::string model;
  auto problem = [&](std::int64_t size) {
    settings["vocab_size"] = std::to_string(size);
    Lines iterator(lines);
    const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &iterator, &model);
    return status.ok() ? "" : status.ToString();
  };
  std::string refused = problem(options.vocabulary_size);
  if (const std::int64_t most = most_possible(refused); most > kSpecialTokens)
    refused = problem(most);
  if (!refused.empty())
    throw ValueError("sentencepiece", explain(options, refused, characters.size()));
  return std::make_shared<SentencePieceTokenizer>(std::move(model));
}

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
  std::vector<int> ids;  // of the text after the character map
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
  std::string text = tokens_ ? std::string(line) : normalize_spaces(line);
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
  for (std::size_t at; (at = text.find("▁")) != text.npos;) text.replace(at, 3, " ");
  const auto words = split_spaces(text);
  if (words.empty()) return "";
  return {words.front().data(), words.back().data() + words.back().size()};
}

}  // namespace glim
