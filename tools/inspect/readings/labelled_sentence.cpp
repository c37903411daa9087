// A sentence and its class, of a classifier.
#include "tensor/error.hpp"
#include "tools/inspect/reading.hpp"
#include "tools/train/learners/classification.hpp"

namespace glim {
namespace {

class SentenceClassReading final : public Reading {
 public:
  explicit SentenceClassReading(const ExampleOptions& options) {
    if (options.init)
      throw ValueError("--kind", "a fresh classifier has no classes: train one, and give --model");
    loaded_ = load_classifier(options.model);
    tokenizers.source = tokenizers.target = loaded_.tokenizer;
    SequenceClassifier& model = *loaded_.model;
    if (options.float64) model.to(DType::Float64);
    if (options.source.empty())
      throw ValueError("--sentence", "a classifier needs a sentence to look at");
    source_text = options.source;
    const Tokenizer& tokenizer = *loaded_.tokenizer;
    source_ids = tokenizer.encode(source_text);
    require_fits("--sentence", source_ids, model.bert.config().max_len - 2, &tokenizer);
    source_ids.insert(source_ids.begin(), kBos);
    source_ids.push_back(kEos);
    source = shown_tokens(tokenizer, source_text);
    source.insert(source.begin(), tokenizer.piece(kBos));
    source.push_back(tokenizer.piece(kEos));
    NoGrad no_tape;
    asked_label(*this, options.label, loaded_.labels, logits());
    label_smoothing = loaded_.label_smoothing;
  }

  Module& model() override { return *loaded_.model; }
  Var loss() override {
    return label_smoothing_loss(logits(), from_vector(target_out_ids, {1}), label_smoothing, -1)
        .loss;
  }

 private:
  Var logits() { return (*loaded_.model)(from_vector(source_ids, {1, std::ssize(source_ids)})); }
  LoadedClassifier loaded_;
};

}  // namespace

std::unique_ptr<Reading> read_labelled_sentence(const ExampleOptions& o) {
  return std::make_unique<SentenceClassReading>(o);
}

}  // namespace glim
