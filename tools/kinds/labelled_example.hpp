// Examples of the kinds that label sentences, or their tokens.
#pragma once

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/kinds/bert.hpp"
#include "tools/kinds/example.hpp"

namespace glim {

// A fresh model for the words of the phrasebook, and two classes.
template <class Loaded, class Model, class... More>
Loaded fresh(const BertConfig& sizes, const TrainOptions& o, More... more) {
  check_encoder(o);
  seed(static_cast<std::uint64_t>(o.seed));
  TokenizerPtr tokenizer =
      train_tokenizer(tokenizer_options(o, false), sources_of(phrasebook_pairs(Part::Train)));
  const Labels labels = Labels::of(std::vector<std::string>{"0", "1"}, "--labels");
  auto model =
      std::make_shared<Model>(bert_config(sizes, o, tokenizer->size()), labels.size(), more...);
  return {labels, tokenizer, std::move(model)};
}

// The sentence of the options, read by a Classifier or Tagger that `make` gives for a fresh model.
template <class Loaded, class Make>
Loaded read_with_labels(Example& e, const ExampleOptions& options, const Make& make) {
  ModelFile file;
  if (!options.init) file = read_model(options.model);
  Loaded loaded = options.init ? make() : Loaded(file);
  e.tokenizers.source = e.tokenizers.target = loaded.tokenizer();
  if (options.float64) loaded.model()->to(DType::Float64);
  if (options.source.empty() && !options.init)
    throw ValueError("--sentence", "a " + file.kind + " needs a sentence to look at");
  read_sentence(
      e, options.source.empty() ? phrasebook_pairs(Part::Valid).at(0).source : options.source,
      loaded.model()->bert.config().max_len - 2);
  e.label_smoothing = (options.init ? options.fresh : trained_options(file)).label_smoothing;
  e.module = loaded.model();
  return loaded;
}

}  // namespace glim
