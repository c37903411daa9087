// The kind `bert`: pre-training an encoder on masked tokens (models/bert/bert.hpp), and what it shares
// with the classifiers that start from it.
//
//   loss = -Σ ln P(token | the rest of its sentence) over the tokens chosen anew in each epoch
//
// One sentence a line; without a validation file the last tenth of the lines validate, always
// masked in the same way.
#pragma once

#include <memory>
#include <string>

#include "models/bert/bert.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/learners/sentences.hpp"

namespace glim {

// What is asked of the options of encoder-only models; `own`: those of one kind alone.
void check_encoder(const TrainOptions& o, std::vector<std::string> own);
BertConfig bert_config(const TrainOptions& o, Index tokens);
std::string to_json(const BertConfig& config);
// The sizes of an encoder from a checkpoint of kind bert or classifier, borne out by its tensors.
// FileError naming the file.
BertConfig described_bert(const Checkpoint& c, const std::string& file);
TokenizerPtr described_tokenizer(const Checkpoint& c, const std::string& file,
                                 const BertConfig& config);

class MaskedLearner final : public Learner {
 public:
  MaskedLearner(const TrainOptions& options, const Checkpoint* from);

  Module& model() override { return *model_; }
  std::string kind() const override { return "bert"; }
  std::map<std::string, std::string> description() const override;
  std::string fingerprint() const override { return data_.fingerprint(); }
  std::vector<std::string> summary() const override;
  Index begin(Split split, Index epoch) override { return data_.begin(split, options_, epoch); }
  BatchSize size(Split split, Index batch) const override;
  Var loss(Split split, Index batch, Index step, Measures& sums) override;
  Var probe(Index i) override;
  std::string describe(const Measures& m) const override;
  std::string demonstrate(const std::string& folder) override;

 private:
  // Of these (B, S) ids, tokens hidden as the key says.
  Var masked_loss(const Tensor& ids, Key key, Measures& sums);

  TrainOptions options_;
  TokenizerPtr tokenizer_;
  SentenceBatches data_;
  Index left_out_ = 0;
  std::unique_ptr<MaskedLanguageModel> model_;
};

std::unique_ptr<Learner> make_masked_learner(const TrainOptions& options, const Checkpoint* from);

}  // namespace glim
