// exposure: whether one wrong step spoils the steps after it, and whether scheduled sampling helps.
//
// A decoder is trained behind true tokens, and writes behind its own (Bengio et al. 2015, arXiv 1506.03099, section 1:
// mistakes "can be quickly amplified"). Sentences that a model finds hard have errors early and late, so errors after an
// error prove nothing. Here a step is made wrong on purpose: a trained model writes greedily, but its third token is
// another than the right one, and the tokens after it are compared with those that it writes undisturbed.
//
// Two tasks: copying needs the source alone, the running sum needs the step before. Both are shown with scheduled
// sampling too: the share of the model's own tokens grows linearly to one half.
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/statistics.hpp"

namespace glim::exposure {

std::vector<double> errors_by_step(SequenceModel& model, const std::vector<TokenPair>& pairs,
                                   std::size_t wrong) {
  const auto decoder = model.decoder_for(batch_of(pairs).source);
  std::vector<Index> tokens(pairs.size(), kBos);
  std::vector<double> errors;
  for (std::size_t t = 0; t < pairs.front().target.size(); ++t) {
    tokens = argmax(decoder->step(tokens), -1).to_vector<Index>();
    double wrong_ones = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const Index right = pairs[i].target[t];
      if (t == wrong) tokens[i] = kSpecialTokens + (right - kSpecialTokens + 1) % kSymbols;
      wrong_ones += tokens[i] != right;
    }
    errors.push_back(wrong_ones / static_cast<double>(pairs.size()));
  }
  return errors;
}

double mean_after(const std::vector<double>& errors, std::size_t step) {
  return mean_of({errors.begin() + static_cast<std::ptrdiff_t>(step) + 1, errors.end()});
}

Measurement measure(std::uint64_t seed, bool small) {
  constexpr Index kLength = 10;
  constexpr std::size_t kWrong = 2;
  const Index steps = small ? 5 : 1500, sentences = small ? 4 : 200;
  Measurement m;
  for (bool sums : {false, true})
    for (double most : {0.0, 0.5}) {
      const SymbolTask task = sums ? SymbolTask::Sum : SymbolTask::Copy;
      const std::string name = sums ? "sum" : "copy";
      generator().set_state(seed, 0);
      Transformer model(symbol_transformer());
      train_on(model, task, kLength, steps, {}, most);
      const auto pairs = symbol_pairs(task, kLength, kLength, sentences, {seed, kHeldOut});
      const auto alone = errors_by_step(model, pairs, kLength),
                 disturbed = errors_by_step(model, pairs, kWrong);
      const std::string with = most > 0 ? "_sampling" : "";
      m.values[name + "_alone" + with] = mean_after(alone, kWrong);
      m.values[name + with] = mean_after(disturbed, kWrong) - mean_after(alone, kWrong);
      for (std::size_t t = 0; t < alone.size(); ++t) {
        const auto step = static_cast<double>(t + 1);
        if (most == 0) m.curve(name, "undisturbed", step, alone[t]);
        m.curve(name, "wrong third step" + std::string(most > 0 ? ", scheduled sampling" : ""),
                step, disturbed[t]);
      }
    }
  return m;
}

}  // namespace glim::exposure
