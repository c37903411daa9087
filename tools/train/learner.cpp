#include "tools/train/learner.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/train/amount.hpp"

namespace glim {

double Measures::perplexity() const { return std::exp(nll); }

double Measures::accuracy() const {
  return static_cast<double>(correct) / static_cast<double>(std::max<Index>(tokens, 1));
}

Measures& Measures::operator+=(const Measures& more) {
  kl += more.kl;
  smoothed_ce += more.smoothed_ce;
  nll += more.nll;
  tokens += more.tokens;
  correct += more.correct;
  auxiliary += more.auxiliary;
  return *this;
}

Measures Measures::per_target() const {
  auto n = static_cast<double>(std::max<Index>(tokens, 1));
  Measures mean = *this;
  mean.kl /= n;
  mean.smoothed_ce /= n;
  mean.nll /= n;
  mean.auxiliary /= n;
  return mean;
}

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
}

Var classes_loss(const Var& logits, const Tensor& target, double label_smoothing, Index pad,
                 Measures& sums) {
  sums.correct += static_cast<Index>(sum(equal(argmax(logits.value(), -1), target)).item());
  return sums.take(label_smoothing_loss(logits, target, label_smoothing, pad));
}

Index EpochBatches::begin(Split split, const std::vector<TokenPair>& pairs,
                          const TrainOptions& options, Index epoch) {
  auto& batches = split == Split::Train ? train_ : valid_;
  batches.clear();
  if (pairs.empty()) return 0;
  BatchOptions o = batch_options(options);
  o.shuffle = split == Split::Train;
  const auto whole = epoch_batches(pairs, o, static_cast<std::uint64_t>(options.seed), epoch);
  const Index parts = split == Split::Train ? options.shards : 1;
  for (const auto& rows : whole)
    for (Index i = 0; i < parts; ++i) {
      const auto [begin, end] = part_rows(std::ssize(rows), i, parts);
      batches.emplace_back(rows.begin() + begin, rows.begin() + end);
    }
  return std::ssize(whole);
}

Index probe_row(Index i, Index count) { return i * count / Learner::kProbes; }

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
    auto to = mine.begin();
    for (Index i = processes.rank(); i < batches; i += p)
      learner.loss(Split::Valid, i, step, *to++);
  });
  const std::vector<Measures> all = processes.gather(mine);
  Measures total;
  for (Index i = 0; i < batches; ++i)
    total += all[(static_cast<std::size_t>(i % p) * mine.size()) + i / p];
  model.train(training);
  return total.per_target();
}

}  // namespace glim
