// Shared by the learners of labels, of sentences (classification.cpp) and of tokens (tagging.hpp), from scratch or a
// pre-trained encoder.
//
//   loss = Σ KL(q ‖ p) over the sentences or tokens, q the label, smoothed
#pragma once

#include <fmt/format.h>
#include <tuple>

#include "models/pipeline/described.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tools/kinds/bert.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {

// A model whose `bert` encodes a sentence, and whose logits are (B, C) of sentences or (B, S, C) of tokens.
template <class Model>
class LabelLearner : public SentenceLearner {
 public:
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

  double criterion(const Measures& m) const override { return class_criterion(m); }
  std::string describe(const Measures& m) const override {
    return fmt::format("NLL {:.4f}  accuracy {:.4f}", m.nll, m.accuracy());
  }
  std::map<Index, Index> target_counts() const override {
    std::map<Index, Index> counts;
    for (const TokenPair& p : train_.pairs)
      for (Index label : p.target) ++counts[label];
    return counts;
  }

 protected:
  // `lines`: what --labelled has.
  LabelLearner(const TrainOptions& o, const std::string& lines) : SentenceLearner(o) {
    check_encoder(o);
    if (o.labelled.empty())
      throw ValueError("--labelled",
                       "--kind " + o.kind + " needs --labelled FILE, of " + lines + " lines");
    if (o.task != "files")
      throw ValueError("--task",
                       "--kind " + o.kind + " learns from --labelled FILE alone: leave out --task");
  }

  // The model, its vocabulary and its labels: those of `init`; else new ones, of these sizes, sentences and labels; the
  // vocabulary and the encoder of --init-from. Returns its longest sentence.
  template <class... More>
  Index begin_model(const BertConfig& sizes, const ModelFile* init,
                    const std::vector<std::string>& names, const std::string& file,
                    const std::vector<std::string>& sentences, const More&... more) {
    const TrainOptions& o = options_;
    BertConfig config;
    ModelFile start;
    if (init) {
      DescribedClassifier d = described_classifier(*init, kind_named(o.kind).gives());
      std::tie(config, tokenizer_, labels_) = std::tie(d.config, d.tokenizer, d.labels);
    } else {
      labels_ = Labels::of(names, file);
      if (o.init_from.empty()) {
        tokenizer_ = train_tokenizer(tokenizer_options(o, false), sentences);
        config = bert_config(sizes, o, tokenizer_->size());
      } else {
        start = read_model(o.init_from);
        require_gives(start, {Gives::HiddenTokens}, "begin a " + o.kind);
        std::tie(config, tokenizer_) = described_encoder(start);
        config.dropout = sizes.dropout;
      }
    }
    const ModelFile& described = init ? *init : start;
    model_ = described.file.empty() ? std::make_unique<Model>(config, labels_.size(), more...)
                                    : described_model<Model>(described.weights, described.file,
                                                             config, labels_.size(), more...);
    if (!start.file.empty()) {
      load_encoder(model_->bert, start);
      add_note("  sizes, vocabulary and encoder weights are those of " + start.file);
    }
    return config.max_len;
  }

  std::unique_ptr<Model> model_;
  Labels labels_;

 private:
  const std::vector<std::int64_t>& targets(Split split, Index row) const {
    return pairs(split)[static_cast<std::size_t>(row)].target;
  }
  Index row_targets(Split split, Index row) const override {
    return std::ssize(targets(split, row));
  }
  TrainingSample sample(Index row) const override {
    std::vector<std::string> names;
    for (Index label : targets(Split::Train, row)) names.push_back(labels_.name(label));
    return {.sentence = train_.text[static_cast<std::size_t>(row)],
            .label = fmt::format("{}", fmt::join(names, " "))};
  }
  MeasuredLoss rows_loss(Split split, const Rows& rows, Index /*step*/) override {
    Tensor ids = padded_ids(pairs(split), rows);
    Rows places, numbers;  // of the labelled tokens among the B·S, and their labels
    for (std::size_t b = 0; b < rows.size(); ++b)
      for (Index t = 1; Index label : targets(split, rows[b])) {
        places.push_back(static_cast<Index>(b) * ids.size(1) + t++);
        numbers.push_back(label);
      }
    if (split == Split::Train && model_->training() && options_.word_dropout > 0)
      ids = with_words_dropped(ids, options_.word_dropout);
    const Index count = std::ssize(numbers);
    Var logits = (*model_)(ids);  // (B, C) or (B, S, C)
    if (logits.rank() == 3)       // (B, S, C) -> (B·S, C) -> (N, C)
      logits = index_select(reshape(logits, {ids.numel(), labels_.size()}), 0,
                            from_vector(places, {count}));
    return classes_loss(logits, from_vector(numbers, {count}), options_.label_smoothing, -1);
  }
};

// A kind of this family: labels for a sentence.
template <class LearnerOfKind>
Kind label_kind(std::string name, ModelSizes sizes, const std::string& settings) {
  return {.name = std::move(name),
          .sizes = std::move(sizes),
          .options = words("labelled valid_labelled tokenizer vocabulary vocabulary_file "
                           "min_frequency max_length word_dropout embeddings freeze_embeddings"),
          .usual = words("kind labelled valid_labelled tokenizer init_from layers d_model epochs "
                         "batch_tokens rate "
                         "out"),
          .tasks = words("files"),
          .settings = R"(
d-model = 128
heads = 4
d-ff = "2D"
norm = "pre"
activation = "gelu"
positions = "learned"
epochs = 0
batch-tokens = 0
optimizer = "adamw"
schedule = "cosine"
rate = 1e-3
warmup = 100
)" + settings,
          .example = words("sentence label"),
          .starts_of = {"bert"},
          .learner = [](const TrainOptions& o, const ModelFile* init) -> std::unique_ptr<Learner> {
            return std::make_unique<LearnerOfKind>(o, init);
          },
          .least =
              [](const TrainOptions& o) {
                return least_of_layers(o, 0, static_cast<double>(o.max_length));
              }};
}

}  // namespace glim
