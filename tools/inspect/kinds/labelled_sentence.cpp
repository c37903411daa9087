// A sentence and its class, of a classifier.
#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/inspect/example.hpp"
#include "tools/train/learners/classification.hpp"
#include "tools/train/option_names.hpp"

namespace glim {
namespace {

// Of the words of the phrasebook, and two classes.
LoadedClassifier fresh_classifier(const TrainOptions& o) {
  check_encoder(o);
  seed(static_cast<std::uint64_t>(o.seed));
  LoadedClassifier fresh;
  fresh.tokenizer = train_tokenizer(tokenizer_options(o, false), sources_of(phrasebook_train()));
  fresh.labels = Labels::of(std::vector<std::string>{"0", "1"}, "--labels");
  fresh.model = std::make_unique<SequenceClassifier>(bert_config(o, fresh.tokenizer->size()),
                                                     fresh.labels.size(),
                                                     kNames<Pooling>.parse("pooling", o.pooling));
  fresh.label_smoothing = o.label_smoothing;
  return fresh;
}

class SentenceClassExample final : public Example {
 public:
  explicit SentenceClassExample(const ExampleOptions& options) {
    loaded_ = options.init ? fresh_classifier(options.fresh) : load_classifier(options.model);
    tokenizers.source = tokenizers.target = loaded_.tokenizer;
    SequenceClassifier& model = *loaded_.model;
    if (options.float64) model.to(DType::Float64);
    if (options.source.empty() && !options.init)
      throw ValueError("--sentence", "a classifier needs a sentence to look at");
    read_sentence(*this, options.source.empty() ? phrasebook_valid().at(0).source : options.source,
                  model.bert.config().max_len - 2);
    NoGrad no_tape;
    asked_label(*this, options, loaded_.labels, logits());
    label_smoothing = loaded_.label_smoothing;
  }

  Module& model() override { return *loaded_.model; }
  Var summed_loss() override {
    return label_smoothing_loss(logits(), from_vector(target_out_ids, {1}), label_smoothing, -1)
        .loss;
  }

 private:
  Var logits() { return (*loaded_.model)(from_vector(source_ids, {1, std::ssize(source_ids)})); }
  LoadedClassifier loaded_;
};

}  // namespace

std::unique_ptr<Example> read_labelled_sentence(const ExampleOptions& o) {
  return std::make_unique<SentenceClassExample>(o);
}

}  // namespace glim
