#include "tools/train/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "tensor/portable.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {
namespace {

constexpr double kClearly = 0.9;  // of the entropy

// Without dropout, on some training batches.
Measures training_loss(Learner& learner, Index shards) {
  constexpr Index kBatches = 16;
  Measures sums;
  const Index parts = learner.begin(Split::Train, 0) * shards;
  for (Index i = 0; i < parts && i < kBatches * shards; ++i) {
    if (learner.size(Split::Train, i).samples == 0) continue;
    sums += learner.loss(Split::Train, i, 0).sums;
  }
  return sums.per_target();
}

struct Frequencies {
  double entropy = 0, largest = 0;  // nats; share
};
Frequencies frequencies(const std::map<Index, Index>& counts) {
  Frequencies f;
  double total = 0;
  for (const auto& [target, n] : counts) total += static_cast<double>(n);
  for (const auto& [target, n] : counts) {
    const double p = static_cast<double>(n) / total;
    f.entropy -= p * portable::log(p);
    f.largest = std::max(f.largest, p);
  }
  return f;
}

std::string more_data(const Learner& learner, const TrainOptions& o) {
  const bool text = kind_named(o.kind).gives() == Gives::Text && o.tokenizer != "char";
  return learner.is_unsplit() ? "--tokenizer char"
         : text               ? "more data, or --tokenizer char"
                              : "more data";
}

std::string remedy(const Learner& learner, const TrainOptions& o, const TrainState& state,
                   double peak) {
  constexpr Index kFew = 1000;
  constexpr double kLow = 2e-4, kUsual = 1e-3, kHigh = 2e-3;
  const Index updates = state.step;
  std::string advice;
  if (learner.is_unsplit()) return more_data(learner, o);
  if (o.patience > 0 && state.bad_validations >= o.patience)
    advice = fmt::format("{} (the loss on held-out data was least after {} of {} updates)",
                         more_data(learner, o), state.best_step, updates);
  else if (updates < kFew && o.max_steps > 0 && updates >= o.max_steps)
    advice = fmt::format("more updates than {} (--max-steps {})", updates, 2 * kFew);
  else if (updates < kFew)
    advice = fmt::format("more updates than {} (--epochs {})", updates,
                         o.epochs * (2 * kFew / std::max<Index>(updates, 1)));
  if (peak < kLow || peak > kHigh || advice.empty())
    advice += fmt::format("{}a {} --rate than {:.2g} ({:.0e})", advice.empty() ? "" : ", or ",
                          peak < kLow ? "higher" : "lower", peak,
                          peak < kLow || peak > kHigh ? kUsual : peak / 4);
  return advice;
}

}  // namespace

std::string not_learned(Learner& learner, const TrainOptions& o, const TrainState& state,
                        double peak, const Measures& held_out) {
  learner.model().eval();
  NoGrad no_tape;
  const Frequencies guess = frequencies(learner.target_counts());
  const Measures loss = training_loss(learner, o.shards);
  // (With label smoothing and a rare class a good model's loss may be above the entropy: its errors are few.)
  const auto guesses = [&](const Measures& m, double clearly) {
    return !(m.nll < clearly * guess.entropy) &&
           !(1 - m.accuracy() < clearly * (1 - guess.largest)) && guess.entropy > 0;
  };
  std::string found;
  if (guesses(loss, kClearly))
    found = fmt::format(
        "the training loss of {:.3f} is not clearly below {:.3f}, that of a guess by "
        "the targets' frequencies",
        loss.nll, guess.entropy);
  const std::vector<std::string> outputs = learner.outputs();
  const std::set<std::string> different(outputs.begin(), outputs.end());
  if (outputs.size() > 1 && different.size() == 1)
    found = outputs[0].empty() ? "every translation is empty"
                               : "every translation is the same: " + outputs[0];
  if (!found.empty()) return "not learned: " + found + "; try " + remedy(learner, o, state, peak);
  if (!(held_out.tokens > 0 && guesses(held_out, 1))) return "";
  const bool falls = state.best_step == state.step;  // to the end
  return fmt::format(
      "{}: the loss of {:.3f} on held-out data is not below {:.3f}, that of a guess by the "
      "targets' frequencies{}; try {}",
      falls ? "not learned" : "learned by heart", held_out.nll, guess.entropy,
      falls ? ", but it falls" : "",
      falls ? remedy(learner, o, state, peak) : more_data(learner, o));
}

}  // namespace glim
