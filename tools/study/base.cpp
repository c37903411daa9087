// base: why 10000?
//
// The sinusoids of Vaswani et al. 2017 (arXiv 1706.03762, section 3.5) have wavelengths from 2π to base · 2π. The paper
// does not say why its base is 10000, and the tutorials guess that another would do. Two positions that are k apart have
// the inner product
//
//   PE(p)·PE(p + k) = Σ_i cos(k/base^(2i/D))
//
// whatever p. With a small base it falls at once and then rises and falls; with a large one most columns hardly move
// over a sentence. Models learn to copy sentences with each base.
#include <algorithm>
#include <cmath>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"

namespace glim::base {

double similarity(Index apart, double base, Index width) {
  const Tensor table = sinusoidal_positions(0, apart + 1, width, base, DType::Float64);
  return 2 * dot(select(table, 0, 0), select(table, 0, apart)) / static_cast<double>(width);
}

Measurement measure(std::uint64_t seed, bool small) {
  const Index steps = small ? 5 : 500, longest = 20, sentences = small ? 4 : 100;
  const auto pairs = symbol_pairs(SymbolTask::Copy, 1, longest, sentences, {seed, kHeldOut});
  Measurement m;
  double best = kInf;
  std::map<Index, double> loss;
  for (Index power = 1; power <= 6; ++power) {
    generator().set_state(seed, 0);
    TransformerConfig c = symbol_transformer();
    c.position_base = std::pow(10.0, power);
    Transformer model(c);
    train_on(model, SymbolTask::Copy, longest, steps);
    loss[power] = m.values["loss_1e" + std::to_string(power)] = nll_of(model, pairs);
    best = std::min(best, loss[power]);
    m.curve("loss", "copy", c.position_base, loss[power]);
    for (Index k = 0; k <= 40; ++k)
      m.curve("products", "base 1e" + std::to_string(power), static_cast<double>(k),
              similarity(k, c.position_base, c.d_model));
  }
  m.values["behind"] = loss[4] - best;
  m.values["smaller"] = std::abs(loss[3] - loss[4]);
  m.values["larger"] = std::abs(loss[5] - loss[4]);
  return m;
}

}  // namespace glim::base
