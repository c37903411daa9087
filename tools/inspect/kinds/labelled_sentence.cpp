// A sentence and its class, of a classifier, or the classes of its tokens, of a tagger.
#include <fmt/format.h>

#include "models/pipeline/tagger.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/inspect/example.hpp"
#include "tools/train/learners/bert.hpp"
#include "tools/train/option_names.hpp"

namespace glim {
namespace {

// Of the words of the phrasebook, and two classes.
template <class Loaded, class Model, class... More>
Loaded fresh(const TrainOptions& o, More... more) {
  check_encoder(o);
  seed(static_cast<std::uint64_t>(o.seed));
  TokenizerPtr tokenizer =
      train_tokenizer(tokenizer_options(o, false), sources_of(phrasebook_pairs(Part::Train)));
  const Labels labels = Labels::of(std::vector<std::string>{"0", "1"}, "--labels");
  auto model = std::make_shared<Model>(bert_config(o, tokenizer->size()), labels.size(), more...);
  return {labels, tokenizer, std::move(model)};
}

// The sentence of the options, read by a Classifier or Tagger that `make` gives for a fresh model.
template <class Loaded, class Make>
Loaded read_with_labels(Example& e, const ExampleOptions& options, const Make& make) {
  Checkpoint checkpoint;
  checkpoint.options = options.fresh;
  if (!options.init) checkpoint = load_checkpoint(options.model);
  Loaded loaded = options.init ? make() : Loaded(checkpoint);
  e.tokenizers.source = e.tokenizers.target = loaded.tokenizer();
  if (options.float64) loaded.model()->to(DType::Float64);
  if (options.source.empty() && !options.init)
    throw ValueError("--sentence", "a " + checkpoint.kind + " needs a sentence to look at");
  read_sentence(
      e, options.source.empty() ? phrasebook_pairs(Part::Valid).at(0).source : options.source,
      loaded.model()->bert.config().max_len - 2);
  e.label_smoothing = checkpoint.options.label_smoothing;
  e.module = loaded.model();
  return loaded;
}

}  // namespace

void read_tagged_sentence(Example& e, const ExampleOptions& options) {
  const auto loaded = read_with_labels<Tagger>(
      e, options, [&] { return fresh<Tagger, TokenClassifier>(options.fresh); });
  const Index count = std::ssize(e.source_ids) - 2;
  e.logits = [model = loaded.model(), count, ids = e.source_ids] {
    Var all = (*model)(from_vector(ids, {1, count + 2}));  // (1, S, C) -> (S - 2, C)
    return narrow(select(all, 0, 0), 0, 1, count);
  };
  e.own_target = options.label.empty() && !options.init;
  if (e.own_target) {
    NoGrad no_tape;
    e.target_out_ids = argmax(e.logits().value(), -1).to_vector<Index>();
  } else if (options.label.empty()) {
    e.target_out_ids.assign(static_cast<std::size_t>(count), 1);
  } else {
    for (std::string_view label : split_spaces(options.label)) {
      e.target_out_ids.push_back(loaded.labels().find(std::string(label)));
      if (e.target_out_ids.back() < 0)
        throw ValueError("--label",
                         fmt::format("'{}' is not one of {}", label, loaded.labels().list()));
    }
    if (std::ssize(e.target_out_ids) != count)
      throw ValueError("--label", fmt::format("needs a label for each of the {} tokens, not {}",
                                              count, e.target_out_ids.size()));
  }
  for (Index label : e.target_out_ids) e.target_out.push_back(loaded.labels().name(label));
  e.target_text = fmt::format("{}", fmt::join(e.target_out, " "));
}

void read_labelled_sentence(Example& e, const ExampleOptions& options) {
  const auto loaded = read_with_labels<Classifier>(e, options, [&] {
    return fresh<Classifier, SequenceClassifier>(
        options.fresh, parse_choice<Pooling>("pooling", options.fresh.pooling));
  });
  const auto& model = loaded.model();
  e.logits = [model, ids = e.source_ids] {
    return (*model)(from_vector(ids, {1, std::ssize(ids)}));
  };
  ask_label(e, options, loaded.labels());
}

}  // namespace glim
