// A sentence and its translation.
#include <algorithm>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tools/kinds/example.hpp"
#include "tools/kinds/pairs.hpp"

namespace glim {
namespace {

Translator fresh_model(const TrainOptions& options, BuildPairModel* build) {
  seed(static_cast<std::uint64_t>(options.seed));
  const TokenizerPair t = load_texts(options).tokenizers;
  std::shared_ptr<SequenceModel> model = build(options, t.source->size(), t.target->size());
  model->eval();
  return {std::move(model), t};
}

// A pair to look at when none was given: a test pair of a built-in task that the model knows whole.
SentencePair built_in_pair(const TrainOptions& options, const TokenizerPair& tokenizers) {
  if (options.task == "files")
    throw ValueError("--sentence", "a model trained on files needs a sentence to look at");
  auto known = [](const Tokenizer& t, const std::string& line) {
    for (std::int64_t id : t.encode(line))
      if (id == kUnk) return false;
    return true;
  };
  auto pairs = task_test_pairs(options);
  for (const SentencePair& p : pairs)
    if (known(*tokenizers.source, p.source) && known(*tokenizers.target, p.target)) return p;
  return pairs.at(0);
}

// A fresh model has no answer of its own: the task's.
std::string translation_of_task(const TrainOptions& o, const Tokenizer& source,
                                const std::string& sentence) {
  if (o.task == "copy") return sentence;
  if (o.task == "reverse") {
    std::string reversed;
    for (std::string_view word : split_spaces(sentence))
      reversed = std::string(word) + (reversed.empty() ? "" : " ") + reversed;
    return reversed;
  }
  const Dataset known = load_pairs(o);
  const auto ids = source.encode(sentence);
  const bool unknown = std::ranges::find(ids, kUnk) != ids.end();
  for (const auto& pairs : {known.train.pairs, known.valid.pairs, task_test_pairs(o)})
    for (const SentencePair& p : pairs)
      if (p.source == sentence || (!unknown && source.encode(p.source) == ids)) return p.target;
  throw ValueError("--translation",
                   "a fresh model cannot translate, and the task " + o.task +
                       " has no such sentence: give its translation, or leave out --sentence");
}

}  // namespace

void read_pair(Example& e, const ExampleOptions& options, BuildPairModel* build) {
  ModelFile file;
  TrainOptions trained = options.fresh;
  if (!options.init) {
    file = read_model(options.model);
    trained = trained_options(file);
  }
  const Translator loaded = options.init ? fresh_model(trained, build) : Translator(file);
  SequenceModel& model = *loaded.model();
  if (options.float64) {
    model.to(DType::Float64);
    trained.precision = "float64";
  }
  e.tokenizers = loaded.tokenizers();
  const Tokenizer &source = *e.tokenizers.source, &target = *e.tokenizers.target;
  SentencePair pair{options.source, options.target};
  if (pair.source.empty()) {
    if (!pair.target.empty())
      throw ValueError("--translation",
                       "a translation without a --sentence has nothing to be read beside");
    pair = built_in_pair(trained, e.tokenizers);
  }
  Index most = model.max_len() - 1;    // <s> or </s> besides
  const bool copies = model.copies();  // words that the vocabulary lacks, too
  require_fits("--sentence", source.encode(pair.source), most, copies ? nullptr : &source);
  if (pair.target.empty() && options.init) {
    pair.target = translation_of_task(options.fresh, source, pair.source);
  } else if (pair.target.empty()) {
    pair.target = loaded.translate({pair.source}, {}, {"--sentence"}).at(0).at(0).text;
    e.own_target = true;
    if (target.encode(pair.target).empty())
      throw ValueError("--translation",
                       "the model's own translation is empty; give one to look at");
  }
  require_fits("--translation", target.encode(pair.target), most, copies ? nullptr : &target);
  e.source_text = pair.source;
  e.target_text = pair.target;
  e.source = shown_tokens(source, pair.source);
  e.source_ids = source.encode(pair.source);
  e.source.push_back(source.piece(kEos));
  e.source_ids.push_back(kEos);
  double& smoothing = trained.label_smoothing;
  smoothing = options.changes.label_smoothing.value_or(smoothing);
  e.label_smoothing = smoothing;
  e.target_out = e.target_in = shown_tokens(target, pair.target);
  e.target_in.insert(e.target_in.begin(), target.piece(kBos));
  e.target_out.push_back(target.piece(kEos));
  e.target_out_ids = target.encode(pair.target);
  e.target_out_ids.push_back(kEos);
  const auto learner = std::make_shared<TranslationLearner>(
      trained, loaded, generated_corpus("the sentence pair", {std::move(pair)}));
  learner->begin(Split::Valid, 0);
  e.module = {learner, &learner->model()};
  e.summed_loss = [learner] { return learner->loss(Split::Valid, 0, 0).loss; };
}

}  // namespace glim
