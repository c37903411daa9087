// length: whether positions reach beyond the lengths that a model was trained on.
//
// Vaswani et al. 2017 (arXiv 1706.03762), section 3.5: sinusoids were chosen because they "may allow the model to
// extrapolate to sequence lengths longer than the ones encountered during training". The tutorials' example is a model
// trained up to 20 words that gets a sentence of 21. Here one is trained up to n symbols, and gets n to 4 n.
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::length {

Measurement measure(std::uint64_t seed, bool small) {
  const std::pair<const char*, Positions> kinds[] = {{"sinusoidal", Positions::Sinusoidal},
                                                     {"learned", Positions::Learned},
                                                     {"rotary", Positions::Rotary},
                                                     {"alibi", Positions::Alibi},
                                                     {"none", Positions::None}};
  const Index n = small ? 4 : 10, steps = small ? 5 : 600, sentences = small ? 4 : 100;
  Measurement m;
  for (bool copies : {true, false})
    for (const auto& [name, positions] : kinds) {
      const SymbolTask task = copies ? SymbolTask::Copy : SymbolTask::Reverse;
      const std::string plot = copies ? "copy" : "reverse";
      generator().set_state(seed, 0);
      TransformerConfig c = symbol_transformer();
      c.positions = positions;
      Transformer model(c);
      train_on(model, task, n, steps);
      auto accuracy = [&](Index length) {
        return token_accuracy(model, symbol_pairs(task, length, length, sentences,
                                                  {seed, kHeldOut + std::uint64_t(length)}));
      };
      for (Index length : {n, n + 1, 3 * n / 2, 2 * n, 3 * n, 4 * n})
        m.curve(plot, name, static_cast<double>(length), accuracy(length));
      auto value = [&](const std::string& where, std::size_t i) {
        m.values[plot + where +
                 (positions == Positions::Sinusoidal ? "" : std::string("_") + name)] =
            m.points(plot, name).y[i];
      };
      value("_trained", 0);
      value("_next", 1);
      value("_double", 3);
    }
  return m;
}

}  // namespace glim::length
