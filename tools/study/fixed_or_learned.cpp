// fixed-or-learned: whether learned positions give another result than sinusoids.
//
// Vaswani et al. 2017 (arXiv 1706.03762), section 3.5 and table 3, row E: learned positions "produced nearly identical
// results", BLEU 25.7 against 25.8. Identical is meant up to what another seed changes: on each task the distance of the
// two means is divided by the deviation between draws of weights and batches,
//
//   |mean_fixed - mean_learned|/s      s² = ½ (s_fixed² + s_learned²)
//
// of ln NLL on held-out pairs, because a draw multiplies the loss more than it adds to it.
#include <cmath>

#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/statistics.hpp"

namespace glim::fixed_or_learned {

double distance_in_deviations(const std::vector<double>& a, const std::vector<double>& b) {
  const double s = std::hypot(deviation_of(a), deviation_of(b)) / std::sqrt(2.0);
  return std::abs(mean_of(a) - mean_of(b)) / s;
}

Measurement measure(std::uint64_t seed, bool small) {
  const Index steps = small ? 3 : 500, sentences = small ? 4 : 200;
  const int draws = small ? 2 : 4;
  const std::pair<std::string, SymbolTask> tasks[] = {
      {"copy", SymbolTask::Copy}, {"reverse", SymbolTask::Reverse}, {"sum", SymbolTask::Sum}};
  Measurement m;
  for (const auto& [name, task] : tasks) {
    std::vector<double> loss[2], accuracy[2];
    for (int learned : {0, 1})
      for (int draw = 0; draw < draws; ++draw) {
        generator().set_state(seed, static_cast<std::uint64_t>(draw) << 32);
        TransformerConfig c = symbol_transformer();
        c.positions = learned ? Positions::Learned : Positions::Sinusoidal;
        Transformer model(c);
        train_on(model, task, 8, steps);
        const auto pairs = symbol_pairs(task, 1, 8, sentences, {seed, kHeldOut});
        const double nll = nll_of(model, pairs);
        loss[learned].push_back(std::log(nll));
        accuracy[learned].push_back(token_accuracy(model, pairs));
        m.curve("draws", name + (learned ? ", learned" : ", sinusoidal"), draw + 1, nll);
      }
    m.values[name] = distance_in_deviations(loss[0], loss[1]);
    m.values[name + "_fixed"] = mean_of(accuracy[0]);
    m.values[name + "_learned"] = mean_of(accuracy[1]);
  }
  return m;
}

}  // namespace glim::fixed_or_learned
