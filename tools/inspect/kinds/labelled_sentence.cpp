// A sentence and its class, of a classifier.
#include "models/pipeline/classifier.hpp"
#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/inspect/example.hpp"
#include "tools/train/learners/classification.hpp"
#include "tools/train/option_names.hpp"

namespace glim {
namespace {

// Of the words of the phrasebook, and two classes.
Classifier fresh_classifier(const TrainOptions& o) {
  check_encoder(o);
  seed(static_cast<std::uint64_t>(o.seed));
  TokenizerPtr tokenizer =
      train_tokenizer(tokenizer_options(o, false), sources_of(phrasebook_train()));
  const Labels labels = Labels::of(std::vector<std::string>{"0", "1"}, "--labels");
  return {labels, tokenizer,
          std::make_shared<SequenceClassifier>(bert_config(o, tokenizer->size()), labels.size(),
                                               parse_choice<Pooling>("pooling", o.pooling))};
}

}  // namespace

void read_labelled_sentence(Example& e, const ExampleOptions& options) {
  Checkpoint checkpoint;
  checkpoint.options = options.fresh;
  if (!options.init) checkpoint = load_checkpoint(options.model);
  const Classifier loaded = options.init ? fresh_classifier(options.fresh) : Classifier(checkpoint);
  e.tokenizers.source = e.tokenizers.target = loaded.tokenizer();
  const auto& model = loaded.model();
  if (options.float64) model->to(DType::Float64);
  if (options.source.empty() && !options.init)
    throw ValueError("--sentence", "a classifier needs a sentence to look at");
  read_sentence(e, options.source.empty() ? phrasebook_valid().at(0).source : options.source,
                model->bert.config().max_len - 2);
  e.label_smoothing = checkpoint.options.label_smoothing;
  e.module = model;
  e.logits = [model, ids = e.source_ids] {
    return (*model)(from_vector(ids, {1, std::ssize(ids)}));
  };
  ask_label(e, options, loaded.labels());
}

}  // namespace glim
