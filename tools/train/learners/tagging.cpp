#include "tools/train/learners/tagging.hpp"

#include <fmt/format.h>
#include <tuple>

#include "models/pipeline/tagger.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tools/common/counted.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/train/learners/bert.hpp"
#include "tools/train/learners/sizes.hpp"

namespace glim {
namespace {

void check_tagging(const TrainOptions& o) {
  check_encoder(o);
  if (o.labelled.empty())
    throw ValueError("--labelled",
                     "--kind tagger needs --labelled FILE, with TOKEN<TAB>LABEL lines");
  if (o.task != "files")
    throw ValueError("--task", "--kind tagger learns from --labelled FILE alone: leave out --task");
  one_of("tie", o.tie, {"none"});
  one_of("tokenizer", o.tokenizer, {"word"});
}

std::string spaced(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

class TaggingLearner final : public SentenceLearner {
 public:
  TaggingLearner(const TrainOptions& o, const Checkpoint* from) : SentenceLearner(o) {
    check_tagging(o);
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
    BertConfig config;
    ModelFile start;
    if (from) {
      DescribedClassifier d = described_classifier(*from, "tagger", "label tokens");
      std::tie(config, tokenizer_, labels_) = std::tie(d.config, d.tokenizer, d.labels);
    } else {
      labels_ = Labels::of(names, o.labelled);
      if (o.init_from.empty()) {
        tokenizer_ = train_tokenizer(tokenizer_options(o, false), sentences);
        config = bert_config(o, tokenizer_->size());
      } else {
        start = read_model(o.init_from);
        start.require_kind("bert", "begin a tagger");
        std::tie(config, tokenizer_) = described_encoder(start);
        config.dropout = o.dropout;
      }
    }
    const ModelFile& described = from ? static_cast<const ModelFile&>(*from) : start;
    model_ = described.file.empty()
                 ? std::make_unique<TokenClassifier>(config, labels_.size())
                 : described_model<TokenClassifier>(described.weights, described.file, config,
                                                    labels_.size());
    if (!start.file.empty()) {
      load_encoder(model_->bert, start);
      add_note("  sizes, vocabulary and encoder weights are those of " + start.file);
    }
    fill(train, train_, config.max_len);
    fill(valid, valid_, config.max_len);
    choose_by_amount(std::ssize(train_.pairs));
  }

  Module& model() override { return *model_; }
  std::map<std::string, std::string> description() const override {
    return {{"model", to_json(model_->bert.config())},
            {"tokenizer", tokenizer_->serialize()},
            {"labels", labels_.to_json()}};
  }
  std::vector<std::string> summary() const override {
    std::vector<std::string> lines = SentenceLearner::summary();
    lines.push_back("  labels: " + labels_.list());
    return lines;
  }

  double criterion(const Measures& m) const override { return 1 - m.accuracy(); }
  std::string describe(const Measures& m) const override {
    return fmt::format("NLL {:.4f}  accuracy {:.4f}", m.nll, m.accuracy());
  }

  std::map<Index, Index> target_counts() const override {
    std::map<Index, Index> counts;
    for (const TokenPair& p : train_.pairs)
      for (Index label : p.target) ++counts[label];
    return counts;
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

  Index row_targets(Split split, Index row) const override {
    return std::ssize(pairs(split)[static_cast<std::size_t>(row)].target);
  }
  TrainingSample sample(Index row) const override {
    const auto at = static_cast<std::size_t>(row);
    std::vector<std::string> names;
    for (Index label : train_.pairs[at].target) names.push_back(labels_.name(label));
    return {.sentence = train_.text[at], .label = spaced(names)};
  }
  Var rows_loss(Split split, const Rows& rows, Index /*step*/, Measures& sums) override {
    Tensor ids = padded_ids(pairs(split), rows);
    const Index columns = ids.size(1);
    std::vector<Index> chosen, numbers;  // positions among the B·S, and their labels
    for (std::size_t b = 0; b < rows.size(); ++b) {
      const auto& labels = pairs(split)[static_cast<std::size_t>(rows[b])].target;
      for (Index t = 0; t < std::ssize(labels); ++t)
        chosen.push_back(static_cast<Index>(b) * columns + 1 + t);
      numbers.insert(numbers.end(), labels.begin(), labels.end());
    }
    if (split == Split::Train && model_->training() && options_.word_dropout > 0)
      ids = with_words_dropped(ids, options_.word_dropout);
    const Index count = std::ssize(numbers);
    Var logits = reshape((*model_)(ids), {ids.numel(), labels_.size()});  // (B, S, C) -> (B·S, C)
    return classes_loss(index_select(logits, 0, from_vector(chosen, {count})),
                        from_vector(numbers, {count}), options_.label_smoothing, -1, sums);
  }

  Labels labels_;
  std::unique_ptr<TokenClassifier> model_;
};

}  // namespace

std::unique_ptr<Learner> make_tagging_learner(const TrainOptions& options, const Checkpoint* from) {
  return std::make_unique<TaggingLearner>(options, from);
}

}  // namespace glim
