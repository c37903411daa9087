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
#include <limits>

#include "autograd/magnification.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/study/all_studies.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim {

ScorePair score_statistics(Index heads, Index tokens, Index d_k) {
  constexpr Index kValueWidth = 64;
  auto random = [&](Index width) {
    return normal({1, heads, tokens, width}, 0, 1, generator().next());
  };
  Tensor q = random(d_k), k = random(d_k), v = random(kValueWidth), dy = random(kValueWidth);
  double root = std::sqrt(static_cast<double>(d_k));
  Magnify magnify(Magnification::Explicit);
  auto measured = [&](const Tensor& queries) {
    Tape tape;
    tape.watch("scores");
    tape.watch("probs");
    Var context = scaled_dot_product_attention(Var::leaf(queries), Var(k), Var(v)).context;
    tape.backward(context, dy);
    ScoreStatistics s;
    for (const Watched& w : tape.watched()) {
      if (w.path == "probs") {
        s.entropy = head_statistics(reshape(w.value, {heads * tokens, tokens})).entropy;
        continue;
      }
      s.variance = var(w.value).item();
      s.gradient_norm = norm(w.grad);
      std::vector<double> rows = reshape(sqrt(sum(mul(w.grad, w.grad), {-1})), {-1})
                                     .to(DType::Float64)
                                     .to_vector<double>();
      std::nth_element(rows.begin(), rows.begin() + std::ssize(rows) / 2, rows.end());
      s.median_row = rows[rows.size() / 2];
    }
    return s;
  };
  return {measured(q), measured(mul(q, root))};
}

namespace scaling {

constexpr Index kTokens = 64;

// Means over the draws; of the gradient, the root of the mean square.
ScorePair mean_statistics(int draws, Index heads, Index d_k) {
  ScorePair mean;
  for (int i = 0; i < draws; ++i) {
    ScorePair one = score_statistics(heads, kTokens, d_k);
    auto add = [&](ScoreStatistics& to, const ScoreStatistics& s) {
      to.variance += s.variance / draws;
      to.entropy += s.entropy / draws;
      to.gradient_norm = std::hypot(to.gradient_norm, s.gradient_norm / std::sqrt(double(draws)));
      to.median_row += s.median_row / draws;
    };
    add(mean.divided, one.divided);
    add(mean.raw, one.raw);
  }
  return mean;
}

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const Index heads = small ? 2 : 8;
  const int draws = small ? 1 : 4;
  const std::vector<Index> widths = small ? std::vector<Index>{4, 256, 1024}
                                          : std::vector<Index>{4, 16, 64, 256, 1024, 4096, 16384};
  std::vector<double> all, variances, divided, raw, from_16, raw_from_16, large, raw_large;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  ScorePair first, last;
  for (Index d_k : widths) {
    auto d = static_cast<double>(d_k);
    last = mean_statistics(draws, heads, d_k);
    if (all.empty()) first = last;
    double variance = last.raw.variance;
    least = std::min(least, variance / d);
    most = std::max(most, variance / d);
    all.push_back(d);
    variances.push_back(variance);
    divided.push_back(last.divided.gradient_norm);
    raw.push_back(last.raw.gradient_norm);
    if (d_k >= 16) {
      from_16.push_back(d);
      raw_from_16.push_back(raw.back());
    }
    if (d_k >= 256) {
      large.push_back(d);
      raw_large.push_back(raw.back());
    }
    m.curve("variance", "Var(q·k)", d, variance);
    m.curve("variance", "d_k", d, d, CurveStyle::Reference);
    m.curve("gradient", "divided by √d_k", d, divided.back());
    m.curve("gradient", "not divided", d, raw.back());
    m.curve("median", "divided by √d_k", d, last.divided.median_row);
    m.curve("median", "not divided", d, last.raw.median_row);
    m.curve("entropy", "divided by √d_k", d, last.divided.entropy);
    m.curve("entropy", "not divided", d, last.raw.entropy);
  }
  m.values["variance_low"] = least;
  m.values["variance_high"] = most;
  m.values["variance_slope"] = fit_power_law(all, variances).slope;
  m.values["scaled_slope"] = fit_power_law(all, divided).slope;
  m.values["raw_slope"] = fit_power_law(large, raw_large).slope;
  m.values["crossover_slope"] = fit_power_law(from_16, raw_from_16).slope;
  m.values["median_ratio"] = last.raw.median_row / last.divided.median_row;
  m.values["raw_entropy"] = last.raw.entropy / std::log(static_cast<double>(kTokens));
  m.values["scaled_entropy"] = last.divided.entropy / first.divided.entropy;
  return m;
}

}  // namespace scaling

Study scaling_study() {
  return {
      "scaling",
      "Var(q·k) = d_k; without 1/√d_k the softmax saturates and ∂L/∂S vanishes as d_k grows.",
      "Vaswani et al. 2017, arXiv 1706.03762, section 3.2.1",
      "d_k 4, 16, … 16384, times 4; 4 draws of 8 heads of 64 tokens, values of width 64; queries, "
      "keys, "
      "values "
      "and upstream gradient N(0, 1); float32",
      "d_k 4, 256, 1024; 2 heads of 64 tokens, values of width 64; all N(0, 1); float32",
      {
          {"variance_low", "least Var(q·k)/d_k", 0.9, 1.1,
           "1, except for sampling: at d_k = 4 the 2,048 lengths ‖q‖² and ‖k‖² alone leave a "
           "deviation of 2 %, and more than three of them are allowed."},
          {"variance_high", "largest Var(q·k)/d_k", 0.9, 1.1, "the same."},
          {"variance_slope", "slope of ln Var(q·k) over ln d_k", 0.97, 1.03,
           "1; two points 10 % apart at the ends would move it by 0.03 or less."},
          {"scaled_slope", "divided: slope of ln ‖∂L/∂S‖ over ln d_k", -0.05, 0.05,
           "the scores then have variance 1 whatever d_k."},
          {"raw_slope", "not divided: the same slope, d_k ≥ 256", -kInf, -0.2,
           "-¼ is expected far beyond the point where one key dominates (σ = √d_k ≥ 16 against "
           "2.9); 0.05 is left for the range. Around that point the slope is smaller: next line."},
          {"crossover_slope", "not divided: the same slope, d_k ≥ 16", -kInf, -0.2,
           "the same criterion with the crossover in it, from σ = 4 on.", false},
          {"median_ratio", "largest d_k: median ‖row of ∂L/∂S‖, not divided/divided", 0, 0.01,
           "the median gap at d_k = 1024 is 32 ln 2/2.9 = 7.7, so the second key has e^-7.7 = "
           "0.0005 of the probability; beyond, less."},
          {"raw_entropy", "largest d_k: entropy/ln 64, not divided", 0, 0.05,
           "saturated: gaps with mean 11 (d_k = 1024) leave about (π²/6)/11 = 0.15 nats of 4.16."},
          {"scaled_entropy", "divided: entropy at the largest d_k/at d_k = 4", 0.9, 1.1,
           "constant, except for the shape of the distribution at small d_k."},
      },
      {{"variance", "Variance of a score", "d_k", "Var(q·k)", true, true},
       {"gradient", "Gradient of the scores", "d_k", "‖∂L/∂S‖", true, true},
       {"median", "Gradient of the scores, median row", "d_k", "median ‖row of ∂L/∂S‖", true, true},
       {"entropy", "Entropy of attention over 64 keys", "d_k", "entropy (nats)", true, false}},
      scaling::measure};
}

}  // namespace glim
