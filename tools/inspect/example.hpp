// What is inspected: a model and one example, whose loss can be recorded on a tape.
//
//   Tape tape({.replay = true});
//   Var loss = example->loss();      explicit: attention, norms and losses as their primitives
//   tape.backward(loss);
//
// The loss is the one of training (label smoothing included), its mean over the target's tokens. The
// model is in eval(): no dropout, so that two inspections agree. Batches hold one sentence pair, so
// nothing is padding. A language model (gpt) reads one text: it has no source, and its target is the text without
// the first token.
//
// Errors: ValueError naming the option for an empty sentence or one longer than the model's maximum;
// FileError for a model that cannot be read, or of a kind that has no sentence pairs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autograd/ops.hpp"
#include "tools/inspect/changes.hpp"
#include "tools/train/learners/language.hpp"
#include "tools/train/learners/translation.hpp"

namespace glim {

struct ExampleOptions {
  std::string model = "model";  // a trained one ...
  bool init = false;            // ... or a fresh one with the sizes in `fresh`
  TrainOptions fresh;
  std::string source, target;  // empty: a pair of the model's task; the model's own translation
  bool float64 = false;
  Changes changes;
};

class Example {
 public:
  explicit Example(const ExampleOptions& options);

  Var loss();  // records on the open tape
  Module& model() { return gpt_ ? *gpt_ : learner_->model(); }

  // "transformer, trained (model)", "transformer, fresh (seed 1)".
  const std::string& title() const { return title_; }
  const std::string& source_text() const { return source_text_; }
  const std::string& target_text() const { return target_text_; }
  bool target_is_its_own() const { return own_target_; }
  // As pictures show them: "Tanvir (unknown)" for a word that is not in the vocabulary.
  const std::vector<std::string>& source() const { return source_; }           // (S)
  const std::vector<std::string>& target_in() const { return target_in_; }     // (T), <s> first
  const std::vector<std::string>& target_out() const { return target_out_; }   // (T), </s> last
  const std::vector<std::int64_t>& source_ids() const { return source_ids_; }  // (S)
  const std::vector<std::int64_t>& target_out_ids() const { return target_out_ids_; }  // (T)
  const TokenizerPair& tokenizers() const { return tokenizers_; }
  bool language_model() const { return gpt_ != nullptr; }
  bool sentencepiece() const;  // one of its tokenizers is SentencePiece's
  double label_smoothing() const { return smoothing_; }
  void change(const Changes& changes);                 // but for the label smoothing, which stays
  const Changes& changes() const { return changes_; }  // loss() makes those of the forward

 private:
  void read_pair(LoadedSequenceModel loaded, const ExampleOptions& options);
  void read_text(const ExampleOptions& options);

  std::unique_ptr<TranslationLearner> learner_;  // of a model that reads sentence pairs
  std::unique_ptr<Learner> fresh_language_;      // of one that continues text, if it is fresh
  LoadedLanguageModel language_;                 // if it is trained
  Gpt* gpt_ = nullptr;
  TokenizerPair tokenizers_;
  std::vector<std::int64_t> source_ids_, target_out_ids_;
  std::int64_t first_id_ = 0;  // of a text
  std::string title_, source_text_, target_text_;
  bool own_target_ = false;
  double smoothing_ = 0;
  Changes changes_;
  std::vector<std::string> source_, target_in_, target_out_;
};

// The tokens of a line as they are read, those without a number marked.
std::vector<std::string> shown_tokens(const Tokenizer& tokenizer, const std::string& line);

}  // namespace glim
