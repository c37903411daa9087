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

}  // namespace

void read_labelled_sentence(Example& e, const ExampleOptions& options) {
  LoadedClassifier loaded =
      options.init ? fresh_classifier(options.fresh) : load_classifier(options.model);
  e.tokenizers.source = e.tokenizers.target = loaded.tokenizer;
  const std::shared_ptr<SequenceClassifier> model = std::move(loaded.model);
  if (options.float64) model->to(DType::Float64);
  if (options.source.empty() && !options.init)
    throw ValueError("--sentence", "a classifier needs a sentence to look at");
  read_sentence(e, options.source.empty() ? phrasebook_valid().at(0).source : options.source,
                model->bert.config().max_len - 2);
  e.label_smoothing = loaded.label_smoothing;
  e.module = model;
  e.logits = [model, ids = e.source_ids] {
    return (*model)(from_vector(ids, {1, std::ssize(ids)}));
  };
  ask_label(e, options, loaded.labels);
}

}  // namespace glim
