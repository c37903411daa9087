#include "tools/train/learners/classification.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <tuple>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/train/learners/labels.hpp"
#include "tools/train/learners/sizes.hpp"

namespace glim {
namespace {

void check_classification(const TrainOptions& o) {
  check_encoder(o);
  if (o.labelled.empty())
    throw ValueError("--labelled",
                     "--kind classifier needs --labelled FILE, of sentence<TAB>label lines");
  if (o.task != "files")
    throw ValueError("--task",
                     "--kind classifier learns from --labelled FILE alone: leave out --task");
  one_of("tie", o.tie, {"none"});
}

class ClassificationLearner final : public SentenceLearner {
 public:
  ClassificationLearner(const TrainOptions& o, const Checkpoint* from) : SentenceLearner(o) {
    check_classification(o);
    ParallelCorpus train = read_labelled(o.labelled, o.columns), valid;
    const std::vector<std::string> names = train.target_sentences();  // of all that are given
    if (!o.valid_labelled.empty()) {
      valid = read_labelled(o.valid_labelled, o.columns);
    } else if (o.valid_share != 0) {
      valid = split_off(train, o.valid_share, o.seed);
      held_out_ = describe_held_out(valid.line, names.size(), o.valid_share, "sentence");
    }
    BertConfig config;
    ModelFile start;
    Pooling pooling = parse_choice<Pooling>("pooling", o.pooling);
    if (from) {
      DescribedClassifier d = described_classifier(*from);
      config = d.config;
      tokenizer_ = d.tokenizer;
      labels_ = d.labels;
    } else {
      labels_ = Labels::of(names, o.labelled);
      if (o.init_from.empty()) {
        tokenizer_ = train_tokenizer(tokenizer_options(o, false), train.source_sentences());
        config = bert_config(o, tokenizer_->size());
      } else {
        start = read_model(o.init_from);
        if (start.kind != "bert")
          throw FileError(start.file, "holds a model of kind '" + start.kind +
                                          "'; --init-from needs one of kind 'bert'");
        std::tie(config, tokenizer_) = described_encoder(start);
        config.dropout = o.dropout;
      }
    }
    const ModelFile& described = from ? static_cast<const ModelFile&>(*from) : start;
    started_from_ = start.file;
    model_ = described.file.empty()
                 ? std::make_unique<SequenceClassifier>(config, labels_.size(), pooling)
                 : described_model<SequenceClassifier>(described.weights, described.file, config,
                                                       labels_.size(), pooling);
    if (!started_from_.empty()) load_encoder(model_->bert, start);
    auto take = [&](const ParallelCorpus& from_file, SentenceSet& to) {
      std::vector<Index> numbers = label_numbers(from_file, labels_);
      for (std::size_t i = 0; i < numbers.size(); ++i)
        to.add(*tokenizer_, from_file.pairs[i].source, numbers[i], config.max_len);
    };
    take(train, train_);
    take(valid, valid_);
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
    if (!started_from_.empty())
      lines.push_back("  sizes, vocabulary and encoder weights are those of " + started_from_);
    return lines;
  }

  double criterion(const Measures& m) const override { return 1 - m.accuracy(); }
  std::string describe(const Measures& m) const override {
    return fmt::format("NLL {:.4f}  accuracy {:.4f}", m.nll, m.accuracy());
  }

  std::map<Index, Index> target_counts() const override {
    std::map<Index, Index> counts;
    for (const TokenPair& p : train_.pairs) ++counts[p.target[0]];
    return counts;
  }

 private:
  TrainingSample sample(Index row) const override {
    const auto at = static_cast<std::size_t>(row);
    return {.sentence = train_.text[at], .label = labels_.name(train_.pairs[at].target[0])};
  }
  Var rows_loss(Split split, const Rows& rows, Index /*step*/, Measures& sums) override {
    Tensor ids = padded_ids(pairs(split), rows);
    std::vector<Index> numbers;
    for (Index row : rows) numbers.push_back(pairs(split)[static_cast<std::size_t>(row)].target[0]);
    if (split == Split::Train && model_->training() && options_.word_dropout > 0)
      ids = with_words_dropped(ids, options_.word_dropout);
    Var logits = (*model_)(ids);  // (B, C)
    return classes_loss(logits, from_vector(numbers, {std::ssize(numbers)}),
                        options_.label_smoothing, -1, sums);
  }

  Labels labels_;
  std::string started_from_;
  std::unique_ptr<SequenceClassifier> model_;
};

}  // namespace

std::unique_ptr<Learner> make_classification_learner(const TrainOptions& options,
                                                     const Checkpoint* from) {
  return std::make_unique<ClassificationLearner>(options, from);
}

}  // namespace glim
