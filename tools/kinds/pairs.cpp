#include "tools/kinds/pairs.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/decoding/scheduled_sampling.hpp"
#include "models/pipeline/described.hpp"
#include "nn/attention/guided.hpp"
#include "nn/attention/mask.hpp"
#include "tensor/error.hpp"
#include "tools/common/counted.hpp"

namespace glim {

Kind pair_kind(std::string name, ModelSizes sizes, std::string settings) {
  return {
      .name = std::move(name),
      .sizes = std::move(sizes),
      .options =
          words("source target valid_source valid_target pairs valid_pairs columns tokenizer "
                "target_tokenizer shared_vocabulary vocabulary vocabulary_file "
                "target_vocabulary_file min_frequency max_length examples teacher teacher_beam "
                "embeddings freeze_embeddings guided_attention guided_width try_every enough "
                "scheduled_sampling sampling_schedule sampling_steps"),
      .usual = words("kind task source target tokenizer layers d_model epochs batch_tokens rate "
                     "out"),
      .tasks = words("phrasebook names copy reverse noisy random files"),
      .settings = std::move(settings),
      .example = words("sentence translation"),
      .least = [](const TrainOptions& o) {
        return least_of_layers(o, least_decoders(o), static_cast<double>(o.max_length));
      }};
}

TranslationLearner::TranslationLearner(const TrainOptions& options, const ModelFile* init,
                                       BuildPairModel* build)
    : Learner(options) {
  check_translation(options);
  if (init) {
    TokenizerPair tokenizers = described_tokenizers(*init);
    data_ = load_dataset(options, &tokenizers);
  } else {
    data_ = load_dataset(options);
  }
  held_out_ = data_.held_out;
  choose_by_amount(std::ssize(data_.train_tokens.pairs));
  const TokenizerPair& t = data_.tokenizers;
  model_ =
      init ? described_sequence_model(*init) : build(options, t.source->size(), t.target->size());
  number_copies();
}

TokenizedCorpus TranslationLearner::tokens_of(const ParallelCorpus& test, TooLong too_long) const {
  const Index most = model_->max_len() - 1;  // </s> besides
  return tokenize(test, *data_.tokenizers.source, *data_.tokenizers.target, most, too_long);
}

TranslationLearner::TranslationLearner(const TrainOptions& trained, const Translator& model,
                                       ParallelCorpus test, bool truncate)
    : Learner(trained), model_(model.model()) {
  data_.tokenizers = model.tokenizers();
  data_.valid = std::move(test);
  data_.valid_tokens = tokens_of(data_.valid, truncate ? TooLong::CutSource : TooLong::Error);
  number_copies();
}

void TranslationLearner::number_copies() {
  if (!model_->copies()) return;
  CopyNumbering numbering(data_.tokenizers);
  auto number = [&](const ParallelCorpus& corpus, const TokenizedCorpus& tokens) {
    std::vector<CopyNumbers> list;
    for (std::size_t i = 0; i < tokens.pairs.size(); ++i) {
      const SentencePair& p = corpus.pairs[static_cast<std::size_t>(tokens.index[i])];
      list.push_back(numbering.number(p.source, p.target));
      list.back().source.resize(tokens.pairs[i].source.size());  // which may have been cut
    }
    return list;
  };
  train_copies_ = number(data_.train, data_.train_tokens);
  valid_copies_ = number(data_.valid, data_.valid_tokens);
}

std::map<std::string, std::string> TranslationLearner::description() const {
  const TokenizerPair& t = data_.tokenizers;
  std::map<std::string, std::string> d{{"model", model_->sizes()},
                                       {"source_tokenizer", t.source->serialize()}};
  if (t.target != t.source) d["target_tokenizer"] = t.target->serialize();
  return d;
}

std::vector<std::string> TranslationLearner::summary() const {
  std::vector<std::string> lines{fmt::format(
      "data: {} training pairs, {} validation; {} source and {} target tokens in the vocabularies",
      data_.train_tokens.pairs.size(), data_.valid_tokens.pairs.size(),
      data_.tokenizers.source->size(), data_.tokenizers.target->size())};
  note_smaller_vocabulary(options_, false, *data_.tokenizers.source, lines);
  if (data_.tokenizers.target != data_.tokenizers.source)
    note_smaller_vocabulary(options_, true, *data_.tokenizers.target, lines);
  add_choices(lines);
  if (!data_.distilled.empty()) lines.push_back(data_.distilled);
  if (!(options_.init_from.empty() && options_.vocabulary_file.empty())) {
    Index source = 0, target = 0;
    for (const TokenPair& p : data_.train_tokens.pairs) {
      source += std::count(p.source.begin(), p.source.end(), kUnk);
      target += std::count(p.target.begin(), p.target.end(), kUnk);
    }
    if (source + target > 0)
      lines.push_back(fmt::format("  {} source and {} target tokens are not in the vocabularies",
                                  source, target));
  }
  auto left_out = [&](const char* split, const ParallelCorpus& corpus, const TokenizedCorpus& t) {
    if (corpus.blank)
      lines.push_back(fmt::format("  left out of {}: {} with an empty side, the first in line {}",
                                  split, counted(corpus.blank, "pair"), corpus.first_blank));
    if (t.too_long)
      lines.push_back(fmt::format("  left out of {}: {} longer than --max-length, the first: {}",
                                  split, counted(t.too_long, "pair"), t.first_too_long));
  };
  left_out("training", data_.train, data_.train_tokens);
  left_out("validation", data_.valid, data_.valid_tokens);
  return lines;
}

bool TranslationLearner::is_unsplit() const {
  std::vector<const std::vector<Index>*> sources, targets;
  for (const TokenPair& p : data_.train_tokens.pairs)
    sources.push_back(&p.source), targets.push_back(&p.target);
  return glim::is_unsplit(*data_.tokenizers.source, sources) ||
         glim::is_unsplit(*data_.tokenizers.target, targets);
}

const std::vector<TokenPair>& TranslationLearner::pairs(Split split) const {
  return split == Split::Train ? data_.train_tokens.pairs : data_.valid_tokens.pairs;
}

TrainingSample TranslationLearner::sample(Index row) const {
  const Index index = data_.train_tokens.index[static_cast<std::size_t>(row)];
  const SentencePair& pair = data_.train.pairs[static_cast<std::size_t>(index)];
  return {.sentence = pair.source, .translation = pair.target};
}

MeasuredLoss TranslationLearner::rows_loss(Split split, const Rows& rows, Index step) {
  const Batch b = make_batch(pairs(split), rows);
  SourceBatch source(b.source);
  Tensor target_out = reshape(b.target_out, {-1});
  if (model_->copies()) {
    const auto& copies = split == Split::Train ? train_copies_ : valid_copies_;
    std::vector<const CopyNumbers*> numbers;
    for (Index i : rows) numbers.push_back(&copies[static_cast<std::size_t>(i)]);
    target_out = reshape(number_words(source, numbers), {-1});
  }
  TeachOptions teach;
  teach.defer_logits = true;
  teach.need_attention = options_.guided_attention > 0;
  if (options_.scheduled_sampling > 0 && model_->training())
    teach.sampling = sampling_share(
        kNames<SamplingSchedule>.parse("--sampling-schedule", options_.sampling_schedule),
        options_.scheduled_sampling, options_.sampling_steps, step);
  TeacherForced taught = model_->teach(source, b.target_in, teach);
  // (B, T, ·) -> (B·T, ·)
  auto flat = [](const Var& v) { return reshape(v, {-1, v.size(-1)}); };
  MeasuredLoss measured =
      taught.head
          ? linear_label_smoothing_loss(flat(taught.hidden), taught.head->weight, taught.head->bias,
                                        target_out, options_.label_smoothing, model_->pad())
          : label_smoothing_loss(flat(taught.logits), target_out, options_.label_smoothing,
                                 model_->pad());
  auto also = [&](const Var& term) {
    measured.sums.auxiliary += term.item();
    measured.loss = add(measured.loss, term);
  };
  if (taught.auxiliary.defined()) also(taught.auxiliary);
  if (teach.need_attention) also(guided(taught, b));
  return measured;
}

Var TranslationLearner::guided(const TeacherForced& taught, const Batch& b) const {
  if (taught.attention.empty())
    throw ValueError("--guided-attention",
                     "a model of kind " + options_.kind +
                         " has no attention to guide here; leave the option out");
  auto targets = row_lengths(b.target_out, model_->pad()),
       sources = row_lengths(b.source, model_->pad());
  Var total;
  for (const Var& a : taught.attention) {
    Var one = guided_attention_loss(a, targets, sources, options_.guided_width);
    total = total.defined() ? add(total, one) : one;
  }
  return mul(total, options_.guided_attention / static_cast<double>(taught.attention.size()));
}

std::unique_ptr<Learner> make_pair_learner(const TrainOptions& options, const ModelFile* init,
                                           BuildPairModel* build) {
  return std::make_unique<TranslationLearner>(options, init, build);
}

}  // namespace glim
