#include "tools/train/learners/tagging.hpp"

#include <fmt/format.h>

#include "models/pipeline/tagger.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tools/common/counted.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/train/learners/labelled.hpp"

namespace glim {
namespace {

std::string spaced(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

class TaggingLearner final : public LabelLearner<TokenClassifier> {
 public:
  TaggingLearner(const TrainOptions& o, const Checkpoint* from)
      : LabelLearner(o, "TOKEN<TAB>LABEL") {
    one_of("tokenizer", o.tokenizer, {"word"});
    TaggedData train = read_tagged(o.labelled), valid;
    note_empty(train);
    std::vector<std::string> names, sentences;
    for (const TaggedSentence& s : train.sentences) {
      names.insert(names.end(), s.labels.begin(), s.labels.end());
      sentences.push_back(spaced(s.tokens));
    }
    if (!o.valid_labelled.empty()) {
      valid = read_tagged(o.valid_labelled);
      note_empty(valid);
    } else if (o.valid_share != 0) {
      valid.name = train.name;
      const auto kept = validation_rows(sentences, o.valid_share, o.seed);
      valid.sentences = take_rows(train.sentences, kept);
      take_rows(sentences, kept);
      std::vector<std::int64_t> lines;
      for (const TaggedSentence& s : valid.sentences) lines.push_back(s.line);
      held_out_ = describe_held_out(lines, kept.size(), o.valid_share, "sentence");
    }
    const Index longest = begin_model(from, names, train.name, sentences);
    fill(train, train_, longest);
    fill(valid, valid_, longest);
    choose_by_amount(std::ssize(train_.pairs));
  }

  std::string demonstrate(const std::string& folder) override {
    if (valid_.pairs.empty() || labels_.find("O") < 0) return "";
    const Tagger best(folder);
    SpanCounts counts;
    for (std::size_t i = 0; i < valid_.pairs.size(); ++i) {
      std::vector<std::string> said, truth;
      for (const Classified& c : best.tag(words(valid_.text[i])))
        said.push_back(labels_.name(c.label));
      for (Index label : valid_.pairs[i].target) truth.push_back(labels_.name(label));
      counts.add(said, truth);
    }
    return fmt::format("\nvalidation sentences, never trained on: {}\n\n", counts.describe());
  }

 private:
  static std::vector<std::string> words(const std::string& sentence) {
    const auto parts = split_spaces(sentence);
    return {parts.begin(), parts.end()};
  }
  void note_empty(const TaggedData& data) {
    if (data.empty > 0)
      add_note(fmt::format("  left out of {}: {}, the first in line {}", data.name,
                           counted(data.empty, "empty sentence"), data.first_empty));
  }
  void fill(const TaggedData& data, SentenceSet& to, Index longest) {
    const auto numbers = label_numbers(data, labels_);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const TaggedSentence& s = data.sentences[i];
      TokenPair pair{token_numbers(*tokenizer_, s.tokens, fmt::format("{}:{}", data.name, s.line)),
                     numbers[i]};
      const auto room = static_cast<std::size_t>(longest - 2);
      const bool cut = pair.target.size() > room;
      if (cut) pair.target.resize(room), pair.source.resize(room + 1);
      to.cut += cut;
      to.unknown += std::ranges::count(pair.source, kUnk);
      to.text.push_back(spaced({s.tokens.begin(), s.tokens.begin() + std::ssize(pair.target)}));
      to.pairs.push_back(std::move(pair));
    }
  }
};

}  // namespace

std::unique_ptr<Learner> make_tagging_learner(const TrainOptions& options, const Checkpoint* from) {
  return std::make_unique<TaggingLearner>(options, from);
}

}  // namespace glim
