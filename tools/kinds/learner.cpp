#include "tools/kinds/learner.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/tokenizers/utf8.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/kinds/presets.hpp"

namespace glim {

std::string Learner::describe(const Measures& m) const {
  return fmt::format("KL {:.4f}  CE {:.4f}  NLL {:.4f}  perplexity {:.3f}", m.kl, m.smoothed_ce,
                     m.nll, m.perplexity());
}

void Learner::choose_by_amount(Index examples) {
  chosen_ = glim::choose_by_amount(options_, examples);
}

void Learner::add_choices(std::vector<std::string>& lines) const {
  for (const std::string* line : {&held_out_, &chosen_})
    if (!line->empty()) lines.push_back(*line);
  lines.insert(lines.end(), notes_.begin(), notes_.end());
  if (is_unsplit())
    lines.push_back(
        "note: most tokens of the text occur once, as where no blanks divide words (Chinese, "
        "Japanese, "
        "Thai): --tokenizer char learns characters");
}

bool is_unsplit(const Tokenizer& tokenizer, const std::vector<const std::vector<Index>*>& lines) {
  constexpr std::size_t kLong = 12;  // columns: words of European languages that occur once have 8
  std::map<Index, Index> counts;
  for (const std::vector<Index>* line : lines)
    for (Index id : *line) ++counts[id];
  Index all = 0, once = 0;
  std::size_t columns = 0;
  for (const auto& [id, n] : counts) {
    if (id < kSpecialTokens) continue;
    all += n;
    if (n > 1) continue;
    ++once;
    columns += display_width(tokenizer.piece(id));
  }
  return 2 * once > all && columns >= kLong * static_cast<std::size_t>(once);
}

MeasuredLoss classes_loss(const Var& logits, const Tensor& target, double label_smoothing,
                          Index pad) {
  MeasuredLoss measured = label_smoothing_loss(logits, target, label_smoothing, pad);
  measured.sums.correct = static_cast<Index>(sum(equal(argmax(logits.value(), -1), target)).item());
  return measured;
}

double class_criterion(const Measures& m) {
  // An error is 1/targets, and the whole range of the NLL less than that.
  return 1 - m.accuracy() +
         (1 - 1 / (1 + m.nll)) / static_cast<double>(std::max<Index>(m.tokens, 1));
}

std::vector<std::vector<Index>> draw_pairs(Split split, const std::vector<TokenPair>& pairs,
                                           const TrainOptions& options, Index epoch) {
  const BatchOptions o{.max_tokens = options.batch_tokens,
                       .max_sentences = options.batch_sentences,
                       .shuffle = split == Split::Train};
  return epoch_batches(pairs, o, static_cast<std::uint64_t>(options.seed), epoch);
}

std::vector<Learner::Rows> Learner::in_batches(const Rows& rows, Index size) {
  std::vector<Rows> batches;
  for (Index i = 0; i < std::ssize(rows); i += size)
    batches.emplace_back(rows.begin() + i,
                         rows.begin() + std::min<Index>(i + size, std::ssize(rows)));
  return batches;
}

Index Learner::begin(Split split, Index epoch) {
  auto& shards = shards_[static_cast<int>(split)];
  shards.clear();
  const std::vector<Rows> batches = draw(split, epoch);
  const Index count = split == Split::Train ? options_.shards : 1;
  for (const Rows& rows : batches)
    for (Index i = 0; i < count; ++i)  // neighbours, about as many in each shard
      shards.emplace_back(rows.begin() + std::ssize(rows) * i / count,
                          rows.begin() + std::ssize(rows) * (i + 1) / count);
  return std::ssize(batches);
}

BatchSize Learner::size(Split split, Index shard) const {
  BatchSize size;
  for (Index row : rows(split, shard)) {
    ++size.samples;
    size.targets += row_targets(split, row);
  }
  return size;
}

Var Learner::probe(Index i) {
  const Split split = probe_count(Split::Valid) > 0 ? Split::Valid : Split::Train;
  return rows_loss(split, {i * probe_count(split) / kProbes}, 0);
}

std::vector<TrainingSample> Learner::samples(Index shard) const {
  std::vector<TrainingSample> list;
  for (Index row : rows(Split::Train, shard)) list.push_back(sample(row));
  return list;
}

Var Learner::sample_loss(Index shard, std::size_t i) {
  return rows_loss(Split::Train, {rows(Split::Train, shard)[i]}, 0);
}

Probed probe_inside(Learner& learner) {
  return probe_inside(learner.model(), Learner::kProbes, [&](Index i) { learner.probe(i); });
}

Measures measure_validation(Learner& learner, Index step, const Processes& processes) {
  Module& model = learner.model();
  bool training = model.training();
  model.eval();
  NoGrad no_tape;
  const Index batches = learner.begin(Split::Valid, 0), p = processes.size();
  std::vector<Measures> mine(
      static_cast<std::size_t>((batches + p - 1) / p));  // batches rank, rank + P, …
  processes.together([&] {
    auto target = mine.begin();
    for (Index i = processes.rank(); i < batches; i += p)
      *target++ = learner.loss(Split::Valid, i, step).sums;
  });
  const std::vector<Measures> all = processes.gather(mine);
  Measures total;
  for (Index i = 0; i < batches; ++i)
    total += all[(static_cast<std::size_t>(i % p) * mine.size()) + i / p];
  model.train(training);
  return total.per_target();
}

}  // namespace glim
