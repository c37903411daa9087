#include "tools/inspect/example.hpp"

#include <fmt/format.h>

#include "autograd/magnification.hpp"
#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tools/data/tokenizers/by_vocabulary.hpp"
#include "tools/train/presets.hpp"
#include "tools/train/translator.hpp"

namespace glim {
namespace {

LoadedSequenceModel fresh_model(const TrainOptions& options) {
  const SequenceKind* kind = sequence_kind(options.kind);
  if (!kind)
    throw ValueError("--kind", "'" + options.kind + "' reads no sentence pairs; use one of " +
                                   sequence_kind_names());
  seed(static_cast<std::uint64_t>(options.seed));
  LoadedSequenceModel fresh;
  fresh.checkpoint.kind = options.kind;
  fresh.checkpoint.options = options;
  fresh.tokenizers = load_dataset(options).tokenizers;
  fresh.model =
      kind->build(options, fresh.tokenizers.source->size(), fresh.tokenizers.target->size());
  fresh.model->eval();
  return fresh;
}

// A pair to look at when none was given: a test pair of a built-in task that the model knows whole.
SentencePair built_in_pair(const LoadedSequenceModel& loaded) {
  const TrainOptions& options = loaded.checkpoint.options;
  if (options.task == "files")
    throw ValueError("--sentence", "a model trained on files needs a sentence to look at");
  auto known = [](const Tokenizer& t, const std::string& line) {
    for (std::int64_t id : t.encode(line))
      if (id == kUnk) return false;
    return true;
  };
  auto pairs = task_test_pairs(options);
  for (const SentencePair& p : pairs)
    if (known(*loaded.tokenizers.source, p.source) && known(*loaded.tokenizers.target, p.target))
      return p;
  return pairs.at(0);
}

void require_fits(const std::string& option, const Tokenizer& tokenizer, const std::string& text,
                  Index most) {
  auto tokens = static_cast<Index>(tokenizer.encode(text).size());
  if (tokens == 0) throw ValueError(option, "the sentence is empty");
  if (tokens > most)
    throw ValueError(option, fmt::format("the sentence has {} tokens, more than the {} that the "
                                         "model was made for (--max-length when it was trained); "
                                         "give a shorter one",
                                         tokens, most));
}

}  // namespace

std::vector<std::string> shown_tokens(const Tokenizer& tokenizer, const std::string& line) {
  auto ids = tokenizer.encode(line);
  std::vector<std::string> tokens;
  if (auto* words = dynamic_cast<const VocabularyTokenizer*>(&tokenizer))
    tokens = words->tokens(line);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i >= tokens.size()) tokens.push_back(tokenizer.piece(ids[i]));
    if (ids[i] == kUnk) tokens[i] += " (unknown)";
  }
  return tokens;
}

Example::Example(const ExampleOptions& options) : changes_(options.changes) {
  LoadedSequenceModel loaded =
      options.init ? fresh_model(options.fresh) : load_sequence_model(options.model);
  const std::string& kind = loaded.checkpoint.kind;
  title_ = options.init ? fmt::format("{}, fresh (seed {})", kind, options.fresh.seed)
                        : fmt::format("{}, trained ({})", kind, options.model);
  if (options.float64) {
    loaded.model->to(DType::Float64);
    loaded.checkpoint.options.precision = "float64";
  }
  const Tokenizer &from = *loaded.tokenizers.source, &to = *loaded.tokenizers.target;
  SentencePair pair{options.source, options.target};
  if (pair.source.empty()) {
    if (!pair.target.empty())
      throw ValueError("--translation",
                       "a translation without a --sentence has nothing to be read beside");
    pair = built_in_pair(loaded);
  }
  Index most = loaded.model->max_len() - 1;  // <s> or </s> besides
  require_fits("--sentence", from, pair.source, most);
  if (pair.target.empty()) {
    TranslateOptions greedy;
    pair.target = Translator(*loaded.model, loaded.tokenizers)
                      .translate({pair.source}, greedy, {"--sentence"})
                      .at(0)
                      .at(0)
                      .text;
    own_target_ = true;
    if (to.encode(pair.target).empty())
      throw ValueError("--translation",
                       "the model's own translation is empty; give one to look at");
  }
  require_fits("--translation", to, pair.target, most);
  source_text_ = pair.source;
  target_text_ = pair.target;
  source_ = shown_tokens(from, pair.source);
  source_eos_ = batch_options(loaded.checkpoint.options).source_eos;
  if (source_eos_) source_.push_back(from.piece(kEos));
  double& smoothing = loaded.checkpoint.options.label_smoothing;
  smoothing = options.changes.label_smoothing.value_or(smoothing);
  smoothing_ = smoothing;
  target_out_ = shown_tokens(to, pair.target);
  target_in_ = target_out_;
  target_in_.insert(target_in_.begin(), to.piece(kBos));
  target_out_.push_back(to.piece(kEos));
  learner_ = std::make_unique<TranslationLearner>(
      std::move(loaded), generated_corpus("the sentence pair", {std::move(pair)}));
  learner_->begin(Split::Valid, 0);
  model().eval();
}

std::vector<std::int64_t> Example::source_ids() const {
  std::vector<std::int64_t> ids = learner_->data().valid_tokens.pairs.at(0).source;
  if (source_eos_) ids.push_back(kEos);
  return ids;
}

std::vector<std::int64_t> Example::target_out_ids() const {
  std::vector<std::int64_t> ids = learner_->data().valid_tokens.pairs.at(0).target;
  ids.push_back(kEos);
  return ids;
}

void Example::change(const Changes& changes) { changes_ = changes; }

bool Example::sentencepiece() const {
  const TokenizerPair& both = learner_->data().tokenizers;
  auto words = [](const Tokenizer& t) { return dynamic_cast<const VocabularyTokenizer*>(&t); };
  return !words(*both.source) || !words(*both.target);
}

Var Example::loss() {
  Magnify magnify(Magnification::Explicit);
  std::optional<Tape> own;  // values get their names on a tape
  if (!Tape::current()) own.emplace();
  ChangedForward changed(changes_);
  if (changes_.dropout) {
    model().train();
    seed(0);
  }
  Measures sums;
  Var total = learner_->loss(Split::Valid, 0, 0, sums);
  model().eval();
  changed.require_used();
  return mul(total, 1 / static_cast<double>(target_out_.size()));
}

}  // namespace glim
