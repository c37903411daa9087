// Learner: a kind of model and its data, as the training loop sees them. The loop itself, its checkpoints,
// schedules and exact resume are the same for all kinds (trainer.hpp).
//
// A learner holds the model and the data. The batches of an epoch are a function of (data, options,
// seed, epoch) alone, and the loss is a function of (weights, batch, step, random numbers). So a resumed run
// ends in the same bits as one that was never stopped.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autograd/ops.hpp"
#include "nn/module.hpp"
#include "tools/common/processes.hpp"
#include "tools/data/corpus/batches.hpp"
#include "tools/kinds/options.hpp"
#include "tools/measure/probe.hpp"

namespace glim {

enum class Split { Train, Valid };

// The learner defines a target: a token, a label.
struct BatchSize {
  Index samples = 0, targets = 0;
};

// A training sample, in the words of `glim inspect`'s options.
struct TrainingSample {
  std::string sentence = {}, translation = {}, label = {}, image = {};
  std::vector<std::string> hide = {};
};

// A trial of the model on validation data during training.
struct Trial {
  double exact = 0;  // the share of outputs that are exactly right
  std::string text;  // some of them, for people
};

class Learner {
 public:
  explicit Learner(TrainOptions options) : options_(std::move(options)) {}
  virtual ~Learner() = default;

  // The options it was made with. Zeros are replaced by values for the amount of data (presets.hpp).
  const TrainOptions& options() const { return options_; }

  const std::string& kind() const { return options_.kind; }
  virtual Module& model() = 0;
  // The parts of a checkpoint beside the weights that rebuild the model (its sizes as JSON, its
  // tokenizers), by name.
  virtual std::map<std::string, std::string> description() const = 0;
  // Differs where the training data differ: resuming checks it.
  virtual std::string fingerprint() const = 0;
  // Lines that describe the data.
  virtual std::vector<std::string> summary() const = 0;
  void add_note(const std::string& line) { notes_.push_back(line); }  // to the summary

  // Draws the batches of an epoch; returns their number (0: there are no such data). A training batch is divided
  // into options.shards shards; a validation batch is one shard. The shards of batch b have the numbers b · shards
  // to (b + 1) · shards - 1. A shard may be empty.
  Index begin(Split split, Index epoch);
  BatchSize size(Split split, Index shard) const;
  // The loss of a shard, on the open tape, after `step` updates. The model is in train() or eval().
  virtual MeasuredLoss loss(Split split, Index shard, Index step) {
    return rows_loss(split, rows(split, shard), step);
  }

  // The loss of one sample of a small fixed set, 0 <= i < kProbes, by itself and so without padding:
  // samples spread over the validation data, or over the training data where there are none.
  static constexpr Index kProbes = 4;
  virtual Var probe(Index i);

  // The training samples of a shard, and the loss of the i-th alone, summed over its targets. Random choices
  // (hidden tokens) are the same as in the last loss() of the shard.
  virtual std::vector<TrainingSample> samples(Index shard) const;
  virtual Var sample_loss(Index shard, std::size_t i);

  // The number that validation compares (of means), lower being better.
  virtual double criterion(const Measures& m) const { return m.kl; }
  // "KL 1.2345  perplexity 3.44": the measures (means) that matter for this kind.
  virtual std::string describe(const Measures& m) const;

  // Tries the model, in eval() meanwhile. Nothing for kinds whose outputs are not compared whole, and without
  // validation data.
  virtual std::optional<Trial> trial() { return {}; }

  // True if most tokens of a training text are long and occur once, as where words have no blanks between them.
  virtual bool is_unsplit() const { return false; }

  // How often each target occurs in the training data.
  virtual std::map<Index, Index> target_counts() const = 0;
  // The model's outputs for a few different inputs, in eval() meanwhile. Empty for kinds that write no text.
  virtual std::vector<std::string> outputs() { return {}; }

  // Text that shows what the model in this folder has learned, on data that it was not trained on; empty
  // without such data.
  virtual std::string demonstrate(const std::string& /*folder*/) { return {}; }

 protected:
  // The samples are rows, numbered by the learner.
  using Rows = std::vector<Index>;
  // The rows of an epoch, batch by batch, before they are divided. None if there are no such data.
  virtual std::vector<Rows> draw(Split split, Index epoch) const = 0;
  virtual Index row_targets(Split, Index /*row*/) const { return 1; }
  // As loss(), of these rows as one batch.
  virtual MeasuredLoss rows_loss(Split split, const Rows& rows, Index step) = 0;
  // Rows 0 to count - 1 can be probed.
  virtual Index probe_count(Split split) const = 0;
  virtual TrainingSample sample(Index row) const = 0;
  const Rows& rows(Split split, Index shard) const {
    return shards_[static_cast<int>(split)].at(static_cast<std::size_t>(shard));
  }

  static std::vector<Rows> in_batches(const Rows& rows, Index size);
  // Chooses the options that depend on the number of training examples (presets.hpp).
  void choose_by_amount(Index examples);
  // Adds what was held out, what was chosen and the notes to a summary.
  void add_choices(std::vector<std::string>& lines) const;

  TrainOptions options_;
  std::string held_out_;  // which data validate, in a line; empty where that needs no words

 private:
  std::string chosen_;
  std::vector<std::string> notes_;
  std::array<std::vector<Rows>, 2> shards_;  // of the current epochs, by split
};

// The loss of logits (N, C) for the classes in `target`, which are not `pad`. Counts those that are right.
MeasuredLoss classes_loss(const Var& logits, const Tensor& target, double label_smoothing,
                          Index pad);

// The criterion of classes: fewer errors, and of as many the lower NLL. Of means.
double class_criterion(const Measures& m);

// Learner::is_unsplit for a text's tokens, of a number each.
bool is_unsplit(const Tokenizer& tokenizer, const std::vector<const std::vector<Index>*>& lines);

// Learner::draw for pairs of tokens.
std::vector<std::vector<Index>> draw_pairs(Split split, const std::vector<TokenPair>& pairs,
                                           const TrainOptions& options, Index epoch);

// Measurements inside the model on these samples (tools/measure/probe.hpp).
Probed probe_inside(Learner& learner);

// Mean measures over the batches of the validation data, without a tape, the model in eval() meanwhile. Processes
// share the batches; all of them learn the result, which does not depend on their number.
Measures measure_validation(Learner& learner, Index step = 0, const Processes& processes = {});

}  // namespace glim
