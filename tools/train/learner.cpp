#include "tools/train/learner.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

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

std::vector<std::vector<std::int64_t>> divided(
    const std::vector<std::vector<std::int64_t>>& batches, Index parts) {
  std::vector<std::vector<std::int64_t>> list;
  for (const auto& rows : batches)
    for (Index i = 0; i < parts; ++i) {
      const auto [begin, end] = part_rows(std::ssize(rows), i, parts);
      list.emplace_back(rows.begin() + begin, rows.begin() + end);
    }
  return list;
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
