// scaling: why the scores are divided by √d_k.
//
// Vaswani et al. 2017, section 3.2.1, footnote 4: for independent parts of mean 0 and variance 1,
// q·k = Σ q_i k_i has mean 0 and variance d_k; large scores push the softmax to where its gradient
// is small. How small: with scores of deviation σ = √d_k over T keys one key begins to dominate at
// σ = √(2 ln T) (2.9 for T = 64; the random energy model, Derrida 1981). Beyond it the gap between
// the two largest is about exponential with mean σ/√(2 ln T), a row has a gradient only where that
// gap is small, and such rows are a share ∝ 1/σ: mean ‖row‖² ∝ 1/σ, so ‖∂L/∂S‖_F ∝ d_k^-¼, while
// the median row falls exponentially. Values and dy have a width of their own, so ∂L/∂A is the same for every d_k and
// ‖∂L/∂S‖ alone says what the softmax passes on.
#include <algorithm>
#include <cmath>
#include <optional>

#include "autograd/observe/watch.hpp"
#include "autograd/op_form.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim::scaling {

ScorePair score_statistics(Index heads, Index tokens, Index d_k) {
  constexpr Index kValueWidth = 64;
  auto random = [&](Index width) { return gaussian({1, heads, tokens, width}); };
  Tensor q = random(d_k), k = random(d_k), v = random(kValueWidth), dy = random(kValueWidth);
  double root = std::sqrt(static_cast<double>(d_k));
  UseForm use(OpForm::Explicit);
  auto measured = [&](const Tensor& queries) {
    Tape tape;
    Watch watch(tape, "scores");
    watch.add("probs");
    Var context = scaled_dot_product_attention(Var::leaf(queries), Var(k), Var(v)).context;
    tape.backward(context, dy);
    ScoreStatistics s;
    for (const Watched& w : watch.values()) {
      if (w.path == "probs") {
        s.entropy = head_statistics(reshape(w.value, {heads * tokens, tokens})).entropy;
        continue;
      }
      s.variance = var(w.value).item();
      s.gradient_norm = norm(w.grad);
      std::vector<double> rows = row_norms(w.grad);
      std::nth_element(rows.begin(), rows.begin() + std::ssize(rows) / 2, rows.end());
      s.median_row = rows[rows.size() / 2];
    }
    return s;
  };
  return {measured(q), measured(mul(q, root))};
}

namespace {

constexpr Index kTokens = 64;

// Means over the draws; of the gradient, the root of the mean square.
ScorePair mean_statistics(int draws, Index heads, Index d_k) {
  ScorePair mean;
  for (int i = 0; i < draws; ++i) {
    ScorePair one = score_statistics(heads, kTokens, d_k);
    auto add = [&](ScoreStatistics& sum, const ScoreStatistics& s) {
      sum.variance += s.variance / draws;
      sum.entropy += s.entropy / draws;
      sum.gradient_norm = std::hypot(sum.gradient_norm, s.gradient_norm / std::sqrt(double(draws)));
      sum.median_row += s.median_row / draws;
    };
    add(mean.divided, one.divided);
    add(mean.raw, one.raw);
  }
  return mean;
}

}  // namespace

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const Index heads = small ? 2 : 8;
  const int draws = small ? 1 : 4;
  const auto widths = sizes<Index>(small, {4, 256, 1024}, {4, 16, 64, 256, 1024, 4096, 16384});
  double least = kInf, most = 0;
  std::optional<ScorePair> first;
  ScorePair last;
  for (Index d_k : widths) {
    auto d = static_cast<double>(d_k);
    last = mean_statistics(draws, heads, d_k);
    if (!first) first = last;
    least = std::min(least, last.raw.variance / d);
    most = std::max(most, last.raw.variance / d);
    m.curve("variance", "Var(q·k)", d, last.raw.variance);
    m.curve("variance", "d_k", d, d, CurveStyle::Reference);
    m.curve("gradient", "divided by √d_k", d, last.divided.gradient_norm);
    m.curve("gradient", "not divided", d, last.raw.gradient_norm);
    m.curve("median", "divided by √d_k", d, last.divided.median_row);
    m.curve("median", "not divided", d, last.raw.median_row);
    m.curve("entropy", "divided by √d_k", d, last.divided.entropy);
    m.curve("entropy", "not divided", d, last.raw.entropy);
  }
  m.values["variance_low"] = least;
  m.values["variance_high"] = most;
  m.values["variance_slope"] = m.exponent("variance", "Var(q·k)");
  m.values["scaled_slope"] = m.exponent("gradient", "divided by √d_k");
  m.values["raw_slope"] = m.exponent("gradient", "not divided", 256);
  m.values["crossover_slope"] = m.exponent("gradient", "not divided", 16);
  m.values["median_ratio"] = last.raw.median_row / last.divided.median_row;
  m.values["raw_entropy"] = last.raw.entropy / std::log(static_cast<double>(kTokens));
  m.values["scaled_entropy"] = last.divided.entropy / first->divided.entropy;
  return m;
}

}  // namespace glim::scaling
