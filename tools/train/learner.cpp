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

Index probe_row(Index i, Index count) { return i * count / Learner::kProbes; }

Probed probe_inside(Learner& learner) {
  return probe_inside(learner.model(), Learner::kProbes, [&](Index i) { learner.probe(i); });
}

Measures measure(Learner& learner, Split split, Index step) {
  Module& model = learner.model();
  bool training = model.training();
  model.eval();
  NoGrad no_tape;
  Measures total;
  Index batches = learner.begin(split, 0);
  for (Index i = 0; i < batches; ++i) {
    Measures sums;
    learner.loss(split, i, step, sums);
    total += sums;
  }
  model.train(training);
  return total.per_target();
}

}  // namespace glim
