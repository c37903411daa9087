// Learning from sentence pairs, for every model from a source sequence to a target sequence.
//
//   loss = Σ over target tokens of KL(q ‖ p), q the smoothed target (autograd/ops.hpp)
//          + the model's auxiliary loss
//          + weight · mean over layers of the guided attention loss (nn/attention/guided.hpp)
//
// Decoder inputs are mixed with the model's own predictions as the schedule says
// (models/decoding/scheduled_sampling.hpp), in training only. A model that copies learns on V + extra
// columns; the extra ones are words of the sentence that are not in the vocabulary.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/decoding/sequence_model.hpp"
#include "models/pipeline/copying.hpp"
#include "models/pipeline/translator.hpp"
#include "tools/data/corpus/batches.hpp"
#include "tools/kinds/dataset.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/fingerprint.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {

// A new model of a kind, for vocabularies of these sizes. ValueError naming the option.
using BuildPairModel = std::unique_ptr<SequenceModel>(const TrainOptions& options, Index src_vocab,
                                                      Index tgt_vocab);
template <class Config>
Config sized_for(const TrainOptions& o, Index src_vocab, Index tgt_vocab) {
  auto sizes = o.config<Config>();
  sizes.src_vocab = src_vocab;
  sizes.tgt_vocab = tgt_vocab;
  sizes.max_len = o.max_length + 1;  // <s> or </s> besides
  return sizes;
}
// A model of layers; without --decoder-layers its decoder has as many as its encoder.
template <class Model, class Config>
std::unique_ptr<SequenceModel> build_layers(const TrainOptions& o, Index src_vocab,
                                            Index tgt_vocab) {
  auto sizes = sized_for<Config>(o, src_vocab, tgt_vocab);
  if (sizes.decoder_layers == 0) sizes.decoder_layers = sizes.encoder_layers;
  return std::make_unique<Model>(sizes);
}

// The best translation of each; the processes share the batches.
std::vector<std::string> best_translations(const Translator& translator,
                                           const std::vector<std::string>& sentences,
                                           TranslateOptions options, const Processes& processes);

class TranslationLearner final : public Learner {
 public:
  // A new model (or, from a file, one of its sizes) and the data that the options name.
  TranslationLearner(const TrainOptions& options, const ModelFile* init, BuildPairModel* build);
  // To measure a trained model on a test set, which is the Valid split. FileError, with file and
  // line, for a sentence that is too long for it. `truncate` cuts such a source; a pair with such a target is left out.
  TranslationLearner(const TrainOptions& trained, const Translator& model, ParallelCorpus test,
                     bool truncate = false);

  Module& model() override { return *model_; }
  std::map<std::string, std::string> description() const override;
  std::string fingerprint() const override { return fingerprint_of(data_.train_tokens.pairs); }
  std::vector<std::string> summary() const override;
  std::optional<Trial> trial() override;
  bool is_unsplit() const override;
  std::map<Index, Index> target_counts() const override;
  std::vector<std::string> outputs() override;
  std::string demonstrate(const std::string& folder) override;

  // FileError, with file and line, for a sentence of `test` that is too long for the model.
  void require_fits(const ParallelCorpus& test) const { tokens_of(test, TooLong::Error); }

  SequenceModel& sequence_model() { return *model_; }
  const Dataset& data() const { return data_; }

 private:
  TokenizedCorpus tokens_of(const ParallelCorpus& test, TooLong too_long) const;
  const std::vector<TokenPair>& pairs(Split split) const;
  std::vector<Rows> draw(Split split, Index epoch) const override {
    return draw_pairs(split, pairs(split), options_, epoch);
  }
  Index row_targets(Split split, Index row) const override {  // with </s>
    return std::ssize(pairs(split)[static_cast<std::size_t>(row)].target) + 1;
  }
  MeasuredLoss rows_loss(Split split, const Rows& rows, Index step) override;
  Index probe_count(Split split) const override { return std::ssize(pairs(split)); }
  TrainingSample sample(Index row) const override;
  void number_copies();
  Var guided(const TeacherForced& taught, const Batch& batch) const;

  Dataset data_;
  std::shared_ptr<SequenceModel> model_;
  std::vector<CopyNumbers> train_copies_, valid_copies_;  // of the pairs, if the model copies
};

std::unique_ptr<Learner> make_pair_learner(const TrainOptions& options, const ModelFile* init,
                                           BuildPairModel* build);

// A sentence and its translation, to look at.
void read_pair(Example& example, const ExampleOptions& options, BuildPairModel* build);

// The kinds share options of data and training, tasks, the learner and the example. Memory is that of attention layers.
Kind pair_kind(std::string name, ModelSizes sizes, std::string settings);
template <BuildPairModel* build>
Kind pair_kind(std::string name, ModelSizes sizes, std::string settings) {
  Kind kind = pair_kind(std::move(name), std::move(sizes), std::move(settings));
  kind.learner = [](const TrainOptions& o, const ModelFile* init) {
    return make_pair_learner(o, init, build);
  };
  kind.read = [](Example& e, const ExampleOptions& o) { read_pair(e, o, build); };
  return kind;
}

// Settings that the kinds without self-attention share.
inline constexpr const char* kPairSettings = R"(
schedule = "cosine"
rate = 1e-3

["files"]
warmup = 200
epochs = 0
batch-tokens = 0
average = 3

["copy, reverse, noisy"]
label-smoothing = 0
batch-tokens = 0
batch-sentences = 40
rate = 3e-3
warmup = 50
)";

}  // namespace glim
