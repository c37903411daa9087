// dependence: how much the output moves when every weight is moved a little.
//
// Liu et al. 2020 (Admin, arXiv 2004.08249), theorem 2: x̂_i, the normalised output of sublayer i,
// depends on each sublayer's own residual branch with a share β_ii². With perturbed parameters
//
//   E‖F(x, W) - F(x, W*)‖² ≈ Σ_i β_ii² C      post-norm: β_ii² about constant, so O(N)
//                                             pre-norm:  β_ii² about 1/i, so O(ln N)
//
// Measured: D(N) = mean square of the change of the encoder's normalised output, N layers as Glim's
// Transformer initialises them, W* = W + δ with δ ~ N(0, (η · rms(W))²) for each matrix. What grows
// "as" f(N) is a line over f(N), and a better line than over the other: that is the criterion. Beside
// it the same for the first step of Adam, a perturbation that all weights make in one direction.
#include <cmath>
#include <limits>

#include "models/transformer/layers.hpp"
#include "nn/init.hpp"
#include "optim/adam.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/all_studies.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim {

void perturb(Module& model, double eta) {
  for (const Var& p : model.parameters()) {
    if (p.rank() < 2) continue;
    double rms = norm(p.value()) / std::sqrt(static_cast<double>(p.numel()));
    add_(p.value(), normal(p.shape(), 0, eta * rms, generator().next(), p.dtype()));
  }
}

namespace dependence {

constexpr Index kWidth = 64, kTokens = 16, kSentences = 2;
constexpr double kEta = 0.01, kRate = 1e-4;

}  // namespace dependence

OutputShifts output_shifts(Index layers, NormPlacement norm) {
  using namespace dependence;
  LayerSizes sizes;
  sizes.d_model = kWidth;
  sizes.heads = 4;
  sizes.d_ff = 4 * kWidth;
  sizes.dropout = 0;
  sizes.norm = norm;
  Encoder encoder(layers, sizes);
  for (const Var& p : encoder.parameters())
    if (p.rank() > 1) xavier_uniform_(p.value());
  Shape shape{kSentences, kTokens, kWidth};
  Tensor x = normal(shape, 0, 1, generator().next()), dy = normal(shape, 0, 1, generator().next());
  std::vector<Tensor> weights;
  for (const Var& p : encoder.parameters()) weights.push_back(p.value().clone());
  Tensor before;
  {
    Tape tape;
    Var y = encoder(Var(x));
    before = y.value();
    tape.backward(y, dy);
  }
  auto shift = [&] {
    Tensor change = sub(encoder(Var(x)).value(), before);
    return dot(change, change) / static_cast<double>(change.numel());
  };
  OutputShifts s;
  Adam adam(encoder.named_parameters(), {.rate = kRate});
  adam.step();
  s.update = shift();
  for (std::size_t i = 0; i < weights.size(); ++i)
    encoder.parameters()[i].value().copy_(weights[i]);
  perturb(encoder, kEta);
  s.random = shift();
  return s;
}

namespace dependence {

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const std::vector<Index> depths =
      small ? std::vector<Index>{2, 4, 8} : std::vector<Index>{3, 6, 12, 24, 48};
  const int draws = small ? 1 : 16;
  for (NormPlacement norm : {NormPlacement::Post, NormPlacement::Pre}) {
    bool post = norm == NormPlacement::Post;
    const char* name = post ? "post-norm" : "pre-norm";
    std::string key = post ? "post" : "pre";
    std::vector<double> n, logarithm, random, update;
    for (Index layers : depths) {
      OutputShifts mean;
      for (int i = 0; i < draws; ++i) {
        OutputShifts s = output_shifts(layers, norm);
        mean.random += s.random / draws;
        mean.update += s.update / draws;
      }
      n.push_back(static_cast<double>(layers));
      logarithm.push_back(std::log(n.back()));
      random.push_back(mean.random);
      update.push_back(mean.update);
      m.curve("random", name, n.back(), mean.random);
      m.curve("update", name, n.back(), mean.update);
    }
    // The depths of models in use, before tokens have become one.
    std::vector<double> n_24, logarithm_24, random_24;
    for (std::size_t i = 0; i < n.size() && n[i] <= 24; ++i) {
      n_24.push_back(n[i]);
      logarithm_24.push_back(logarithm[i]);
      random_24.push_back(random[i]);
    }
    m.values[key + "_r2_24"] = fit_line(post ? n_24 : logarithm_24, random_24).r2;
    double linear = fit_line(n, random).r2, logarithmic = fit_line(logarithm, random).r2;
    m.values[key + "_r2"] = post ? linear : logarithmic;
    m.values[key + "_better"] = post ? linear - logarithmic : logarithmic - linear;
    m.values[key + "_exponent"] = fit_power_law(n, random).slope;
    m.values[key + "_update"] = fit_power_law(n, update).slope;
  }
  return m;
}

}  // namespace dependence

Study dependence_study() {
  const char* line = "a line leaves less than a twentieth of the variance unexplained.";
  const char* better =
      "of the two laws this one fits better, by a hundredth of the variance at least.";
  return {
      "dependence",
      "The change of output under perturbed parameters grows as N in post-norm and as log N in "
      "pre-norm.",
      "Liu et al. 2020, arXiv 2004.08249, theorem 2",
      "encoders of N = 3, 6, 12, 24, 48 layers (two sublayers each), d 64, d_ff 256, 4 heads, "
      "Xavier-uniform, 2 sentences of 16 tokens N(0, 1), perturbation of 1 % of each matrix, 16 "
      "draws per depth; update: the first step of Adam at rate 1e-4 for a random upstream gradient",
      "N = 2, 4, 8, 1 draw; d 64, d_ff 256, 4 heads, 2 sentences of 16 tokens, 1 %; Adam at 1e-4",
      {
          {"post_r2", "post-norm: R² of D over N", 0.95, 1, line},
          {"post_better", "post-norm: R² over N less R² over ln N", 0.01, kInf, better},
          {"pre_r2", "pre-norm: R² of D over ln N", 0.95, 1, line},
          {"pre_better", "pre-norm: R² over ln N less R² over N", 0.01, kInf, better},
          {"post_r2_24", "post-norm, N ≤ 24 alone: R² of D over N", 0.95, 1, line, false},
          {"pre_r2_24", "pre-norm, N ≤ 24 alone: R² of D over ln N", 0.95, 1, line, false},
          {"post_exponent", "post-norm: slope of ln D over ln N", 0, 1.5, "1 for D ∝ N.", false},
          {"pre_exponent", "pre-norm: slope of ln D over ln N", 0, 0.5,
           "1/ln N, about 0.3 to 0.9, for D ∝ ln N.", false},
          {"post_update", "post-norm, a step of Adam: slope of ln D over ln N", -kInf, kInf,
           "shown: the theorem's perturbations are independent, an update's are not.", false},
          {"pre_update", "pre-norm, a step of Adam: slope of ln D over ln N", -kInf, kInf, "shown.",
           false},
      },
      {{"random", "Change of the output under random perturbations of 1 %", "layers N",
        "mean square of the change", true, true},
       {"update", "Change of the output by a step of Adam", "layers N", "mean square of the change",
        true, true}},
      dependence::measure};
}

}  // namespace glim
