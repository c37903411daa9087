#include "tools/inspect/example.hpp"

#include <fmt/format.h>

#include "autograd/magnification.hpp"
#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/data/tokenizers/by_vocabulary.hpp"
#include "tools/train/learners/kinds.hpp"
#include "tools/train/presets.hpp"
#include "tools/train/translator.hpp"

namespace glim {
namespace {

LoadedSequenceModel fresh_model(const TrainOptions& options) {
  const SequenceKind* kind = sequence_kind(options.kind);
  if (!kind)
    throw ValueError("--kind",
                     "'" + options.kind +
                         "' reads neither sentence pairs nor text to continue; use one of " +
                         sequence_kind_names() + ", gpt");
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
  const std::string kind =
      options.init ? options.fresh.kind : load_checkpoint(model_file(options.model)).kind;
  title_ = options.init ? fmt::format("{}, fresh (seed {})", kind, options.fresh.seed)
                        : fmt::format("{}, trained ({})", kind, options.model);
  if (kind == "gpt")
    read_text(options);
  else
    read_pair(options.init ? fresh_model(options.fresh) : load_sequence_model(options.model),
              options);
  model().eval();
}

void Example::read_pair(LoadedSequenceModel loaded, const ExampleOptions& options) {
  if (options.float64) {
    loaded.model->to(DType::Float64);
    loaded.checkpoint.options.precision = "float64";
  }
  tokenizers_ = loaded.tokenizers;
  const Tokenizer &from = *tokenizers_.source, &to = *tokenizers_.target;
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
  source_ids_ = from.encode(pair.source);
  if (batch_options(loaded.checkpoint.options).source_eos) {
    source_.push_back(from.piece(kEos));
    source_ids_.push_back(kEos);
  }
  double& smoothing = loaded.checkpoint.options.label_smoothing;
  smoothing = options.changes.label_smoothing.value_or(smoothing);
  smoothing_ = smoothing;
  target_out_ = shown_tokens(to, pair.target);
  target_in_ = target_out_;
  target_in_.insert(target_in_.begin(), to.piece(kBos));
  target_out_.push_back(to.piece(kEos));
  target_out_ids_ = to.encode(pair.target);
  target_out_ids_.push_back(kEos);
  learner_ = std::make_unique<TranslationLearner>(
      std::move(loaded), generated_corpus("the sentence pair", {std::move(pair)}));
  learner_->begin(Split::Valid, 0);
}

void Example::read_text(const ExampleOptions& options) {
  TrainOptions trained = options.fresh;
  if (options.init) {
    fresh_language_ = make_learner(options.fresh);
    gpt_ = &dynamic_cast<Gpt&>(fresh_language_->model());
    tokenizers_.source =
        deserialize_tokenizer(fresh_language_->description().at("tokenizer"), title_);
  } else {
    language_ = load_language_model(options.model);
    gpt_ = language_.model.get();
    tokenizers_.source = language_.tokenizer;
    trained = language_.checkpoint.options;
  }
  tokenizers_.target = tokenizers_.source;
  if (options.float64) gpt_->to(DType::Float64);
  if (!options.target.empty())
    throw ValueError("--translation", "a language model reads one text, --sentence");
  target_text_ = options.source;
  if (target_text_.empty() && trained.task == "files")
    throw ValueError("--sentence", "a model trained on files needs a text to look at");
  if (target_text_.empty()) target_text_ = phrasebook_valid().at(0).source;
  const Tokenizer& tokenizer = *tokenizers_.target;
  require_fits("--sentence", tokenizer, target_text_, gpt_->config().context + 1);
  target_out_ids_ = tokenizer.encode(target_text_);
  if (target_out_ids_.size() < 2)
    throw ValueError("--sentence", "a text of one token has no next one to predict");
  target_out_ = target_in_ = shown_tokens(tokenizer, target_text_);
  target_in_.pop_back();
  target_out_.erase(target_out_.begin());
  first_id_ = target_out_ids_.front();
  target_out_ids_.erase(target_out_ids_.begin());
  smoothing_ = options.changes.label_smoothing.value_or(trained.label_smoothing);
}

void Example::change(const Changes& changes) { changes_ = changes; }

bool Example::sentencepiece() const {
  auto words = [](const Tokenizer& t) { return dynamic_cast<const VocabularyTokenizer*>(&t); };
  return !words(*tokenizers_.source) || !words(*tokenizers_.target);
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
  Var total;
  if (gpt_) {
    const auto length = std::ssize(target_out_ids_);
    std::vector<std::int64_t> in = target_out_ids_;
    in.insert(in.begin(), first_id_);
    in.pop_back();
    Var logits = (*gpt_)(from_vector(in, {1, length}));  // (1, T, V)
    total = label_smoothing_loss(reshape(logits, {length, -1}),
                                 from_vector(target_out_ids_, {length}), smoothing_, kPad)
                .loss;
  } else {
    Measures sums;
    total = learner_->loss(Split::Valid, 0, 0, sums);
  }
  model().eval();
  changed.require_used();
  return mul(total, 1 / static_cast<double>(target_out_.size()));
}

}  // namespace glim
