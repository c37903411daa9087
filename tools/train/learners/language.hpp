// Learning to continue text: the kind `gpt`.
//
//   loss = -Σ ln P(token t+1 | tokens 1 … t) over crops of `block` tokens
//
// Training reads each epoch the whole text once, cut into crops from a random place on and in random
// order, both functions of (seed, epoch): crops at random places, none of which overlap. (nanoGPT
// draws each crop's place, and sees some of the text twice and some of it not.) Validation reads
// the whole validation part in consecutive blocks. The
// parts are nanoGPT's: the first 90 % of the characters (of the lines, unless tokens are
// characters) to train, the rest to validate; or another file to validate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/gpt/gpt.hpp"
#include "tools/data/tokenizers/tokenizer.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/learner.hpp"

namespace glim {

// A model ready to generate with, in eval().
struct LoadedLanguageModel {
  Checkpoint checkpoint;
  TokenizerPtr tokenizer;
  std::unique_ptr<Gpt> model;
};
// `path` as model_file takes it. FileError naming the file, also for a model of another kind.
LoadedLanguageModel load_language_model(const std::string& path);

class LanguageLearner final : public Learner {
 public:
  LanguageLearner(const TrainOptions& options, const Checkpoint* from);

  Module& model() override { return *model_; }
  std::string kind() const override { return "gpt"; }
  std::map<std::string, std::string> description() const override;
  std::string fingerprint() const override;
  std::vector<std::string> summary() const override;
  Index begin(Split split, Index epoch) override;
  BatchSize size(Split split, Index batch) const override;
  Var loss(Split split, Index batch, Index step, Measures& sums) override;
  Var probe(Index i) override;
  std::string describe(const Measures& m) const override;
  std::string demonstrate(const std::string& folder) override;

 private:
  struct Crops {
    std::vector<Index> starts;
    Index length;
  };
  const std::vector<Index>& tokens(Split split) const;
  Var crops_loss(Split split, const Crops& crops, Measures& sums);

  TrainOptions options_;
  TokenizerPtr tokenizer_;
  std::string train_name_;
  std::vector<Index> train_, valid_;
  std::unique_ptr<Gpt> model_;
  std::vector<Crops> train_batches_, valid_batches_;
};

std::unique_ptr<Learner> make_language_learner(const TrainOptions& options, const Checkpoint* from);

}  // namespace glim
