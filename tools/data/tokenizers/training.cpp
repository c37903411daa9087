#include "tools/data/tokenizers/training.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <sentencepiece_trainer.h>
#include <unordered_set>
#include <utility>
#include <vector>

#include "models/tokenizers/by_vocabulary.hpp"
#include "models/tokenizers/sentencepiece.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/data/tokenizers/vocabulary_file.hpp"

namespace glim {

Vocabulary VocabularyBuilder::build(std::int64_t min_frequency, std::int64_t max_size) const {
  if (min_frequency < 0) {
    throw ValueError("vocabulary", fmt::format("min frequency {} is negative", min_frequency));
  }
  if (max_size < 0 || (max_size > 0 && max_size <= kSpecialTokens)) {
    throw ValueError(
        "vocabulary",
        fmt::format("max size {} leaves no room for a token besides the {} special ones; "
                    "0 means no limit",
                    max_size, kSpecialTokens));
  }
  std::vector<std::pair<std::string, std::int64_t>> kept;
  for (const auto& [token, count] : counts_) {
    const bool reserved = std::ranges::find(kSpecialNames, token) != std::end(kSpecialNames);
    if (count >= min_frequency && !reserved) kept.emplace_back(token, count);
  }
  std::ranges::sort(kept, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (max_size > 0 && kept.size() > static_cast<std::size_t>(max_size - kSpecialTokens)) {
    kept.resize(static_cast<std::size_t>(max_size - kSpecialTokens));
  }
  std::vector<std::string> tokens;
  tokens.reserve(kept.size());
  for (auto& [token, count] : kept) tokens.push_back(std::move(token));
  return Vocabulary(std::move(tokens));
}

namespace {

TokenizerPtr counted_vocabulary(const TokenizerOptions& o, std::span<const std::string> lines) {
  VocabularyBuilder builder;
  for (const std::string& line : lines)
    for (std::string_view token : VocabularyTokenizer::cut(o.kind, line)) builder.add(token);
  return std::make_shared<VocabularyTokenizer>(o.kind, builder.build(o.min_frequency, o.max_size));
}

// In BPE the library counts places in a word with 16 bits, and a longer word ends the process.
constexpr std::size_t kLongWord = 4096;

class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return index_ == lines_.size(); }
  void Next() override { ++index_; }
  const std::string& value() const override { return lines_[index_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  std::size_t index_ = 0;
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
  const std::size_t place = complaint.find(kHint);
  return place == std::string::npos ? 0 : std::atoll(complaint.c_str() + place + kHint.size());
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

// ValueError with the remedy when the text does not allow for the size asked for.
TokenizerPtr trained_sentencepiece(const TokenizerOptions& options,
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
      {"num_threads", "2"},  // the result depends on their number
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

}  // namespace

TokenizerPtr train_tokenizer(const TokenizerOptions& o, std::span<const std::string> lines) {
  const bool by_vocabulary = VocabularyTokenizer::has(o.kind);
  if (!by_vocabulary && o.kind != "sentencepiece")
    throw ValueError(
        "tokenizer",
        fmt::format("unknown kind \"{}\": word, char, mixed or sentencepiece", o.kind));
  if (!o.vocabulary_file.empty()) return tokenizer_of_file(o);
  bool blank = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (auto bad = first_invalid_utf8(lines[i]))
      throw ValueError("tokenizer", fmt::format("training line {}: {}", i + 1,
                                                describe_invalid_utf8(lines[i], *bad)));
    blank = blank && split_spaces(lines[i]).empty();
  }
  if (blank) throw ValueError("tokenizer", "no text to learn a vocabulary from");
  return by_vocabulary ? counted_vocabulary(o, lines) : trained_sentencepiece(o, lines);
}

}  // namespace glim
