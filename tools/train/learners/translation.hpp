// Learning from sentence pairs, for every model from a source sequence to a target sequence.
//
//   loss = Σ over target tokens of KL(q ‖ p), q the smoothed target (autograd/ops.hpp)
//          + the model's auxiliary loss
//          + weight · mean over layers of the guided attention loss (nn/attention/guided.hpp)
//
// Decoder inputs are mixed with the model's own predictions as the schedule says
// (models/decoding/scheduled_sampling.hpp), in training only. A model that copies learns on V + extra
// columns; the extra ones are words of the sentence that are not in the vocabulary.
//
// The table of such models says how each is built from options, and from a checkpoint.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/decoding/sequence_model.hpp"
#include "tools/data/corpus/batches.hpp"
#include "tools/data/corpus/copying.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/dataset.hpp"
#include "tools/train/fingerprint.hpp"
#include "tools/train/learner.hpp"

namespace glim {

struct SequenceKind {
  std::string name;
  // A new model for vocabularies of these sizes. ValueError naming the option.
  std::unique_ptr<SequenceModel> (*build)(const TrainOptions& options, Index src_vocab,
                                          Index tgt_vocab);
  // The sizes of a model of this kind, as JSON.
  std::string (*sizes)(const SequenceModel& model);
  // A model of these sizes, without its weights. FileError naming the file, before anything large is built,
  // when its tensors contradict the description.
  std::unique_ptr<SequenceModel> (*rebuild)(const std::string& sizes, const StateDict& weights,
                                            const std::string& file);
};
const std::vector<SequenceKind>& sequence_kinds();
const SequenceKind* sequence_kind(const std::string& name);  // null if there is none
std::string sequence_kind_names();                           // "transformer, rnn"

// A model ready to decode with, in eval().
struct LoadedSequenceModel {
  Checkpoint checkpoint;
  TokenizerPair tokenizers;
  std::unique_ptr<SequenceModel> model;
};
// `path` as model_file takes it. FileError naming the file, also for a model of another kind.
LoadedSequenceModel load_sequence_model(const std::string& path);

class TranslationLearner final : public Learner {
 public:
  // A new model (or, from a checkpoint, one of its sizes) and the data that the options name.
  TranslationLearner(const TrainOptions& options, const Checkpoint* from);
  // To measure a trained model on a test set, which is the Valid split. FileError, with file and
  // line, for a sentence that is too long for it. `truncate` cuts such a source; a pair with such a target is left out.
  TranslationLearner(LoadedSequenceModel loaded, ParallelCorpus test, bool truncate = false);

  Module& model() override { return *model_; }
  std::map<std::string, std::string> description() const override;
  std::string fingerprint() const override { return fingerprint_of(data_.train_tokens.pairs); }
  std::vector<std::string> summary() const override;
  std::optional<Trial> trial() override;
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
  Var rows_loss(Split split, const Rows& rows, Index step, Measures& sums) override;
  Index probe_count(Split split) const override { return std::ssize(pairs(split)); }
  TrainingSample sample(Index row) const override;
  void number_copies();
  Var guided(const TeacherForced& taught, const Batch& batch) const;

  Dataset data_;
  std::unique_ptr<SequenceModel> model_;
  std::vector<CopyNumbers> train_copies_, valid_copies_;  // of the pairs, if the model copies
};

std::unique_ptr<Learner> make_translation_learner(const TrainOptions& options,
                                                  const Checkpoint* from);

}  // namespace glim
