#include "tools/kinds/dataset.hpp"

#include "tensor/error.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/data/corpus/tasks.hpp"
#include "tools/data/phrasebook/names.hpp"
#include "tools/data/phrasebook/phrasebook.hpp"
#include "tools/kinds/distil.hpp"

namespace glim {
namespace {

// A built-in task's pairs. Generated parts are separate streams; memorised pairs are in all parts.
std::vector<SentencePair> task_pairs(const TrainOptions& o, Part part) {
  if (o.task == "phrasebook") return phrasebook_pairs(part);
  if (o.task == "names") return names_pairs(part);
  const std::uint64_t seed = static_cast<std::uint64_t>(o.seed) * 4;
  if (o.task == "random") return synthetic_task(o.task, seed, 64);
  return synthetic_task(o.task, seed + static_cast<std::uint64_t>(part),
                        part == Part::Train ? o.examples : 200);
}

}  // namespace

std::vector<SentencePair> task_test_pairs(const TrainOptions& o) {
  if (o.task == "files") return {};
  return task_pairs(o, Part::Test);
}

Dataset load_pairs(const TrainOptions& o) {
  Dataset d;
  if (o.task == "files") {
    d.train = o.pairs.empty() ? read_parallel(o.source, o.target) : read_pairs(o.pairs, o.columns);
    if (!o.valid_source.empty()) d.valid = read_parallel(o.valid_source, o.valid_target);
    if (!o.valid_pairs.empty()) d.valid = read_pairs(o.valid_pairs, o.columns);
    if (o.valid_share != 0 && d.valid.pairs.empty()) {
      const std::size_t all = d.train.pairs.size();
      d.valid = split_off(d.train, o.valid_share, o.seed);
      d.held_out = describe_held_out(d.valid.line, all, o.valid_share, "pair");
    }
  } else {
    d.train = generated_corpus(o.task, task_pairs(o, Part::Train));
    d.valid = generated_corpus(o.task + " (validation)", task_pairs(o, Part::Valid));
  }
  return d;
}

Dataset load_texts(const TrainOptions& o, const TokenizerPair* tokenizers) {
  Dataset d = load_pairs(o);
  if (!o.teacher.empty()) d.distilled = take_distilled(o, d.train);
  if (o.task != "files") d.test = generated_corpus(o.task + " (test)", task_test_pairs(o));
  if (tokenizers) {
    d.tokenizers = *tokenizers;
  } else {
    auto source = d.train.source_sentences(), target = d.train.target_sentences();
    if (o.shared_vocabulary) source.insert(source.end(), target.begin(), target.end());
    d.tokenizers.source = train_tokenizer(tokenizer_options(o, false), source);
    d.tokenizers.target = o.shared_vocabulary ? d.tokenizers.source
                                              : train_tokenizer(tokenizer_options(o, true), target);
  }
  return d;
}

Dataset load_dataset(const TrainOptions& o, const TokenizerPair* tokenizers) {
  Dataset d = load_texts(o, tokenizers);
  auto tokens_of = [&](const ParallelCorpus& corpus) {
    return tokenize(corpus, *d.tokenizers.source, *d.tokenizers.target, o.max_length,
                    TooLong::Skip);
  };
  d.train_tokens = tokens_of(d.train);
  if (!d.valid.pairs.empty()) d.valid_tokens = tokens_of(d.valid);
  return d;
}

}  // namespace glim
