// dependence: how much the output moves when every weight is moved a little.
//
// Liu et al. 2020 (Admin, arXiv 2004.08249), theorem 2: x̂_i, the normalised output of sublayer i,
// depends on each sublayer's own residual branch with a share β_ii². With perturbed parameters
//
//   E‖F(x, W) - F(x, W*)‖² ≈ Σ_i β_ii² C      post-norm: β_ii² about constant, so O(N)
//                                             pre-norm:  β_ii² about 1/i, so O(ln N)
//
// Measured: D(N) = mean square of the change of the encoder's normalised output, N layers as Glim's
// Transformer initialises them, W* = W + δ with δ ~ N(0, (η · rms(W))²) for each matrix. Growth
// "as" f(N) is a line over f(N), and a better line than over the other: that is the criterion. Beside
// it the same for the first step of Adam, a perturbation that all weights make in one direction.
#include <cmath>

#include "models/transformer/layers.hpp"
#include "nn/init.hpp"
#include "optim/adam.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim::dependence {

void perturb(Module& model, double eta) {
  for (const Var& p : model.parameters()) {
    if (p.rank() < 2) continue;
    double rms = norm(p.value()) / std::sqrt(static_cast<double>(p.numel()));
    add_(p.value(), normal(p.shape(), 0, eta * rms, generator().next(), p.dtype()));
  }
}

namespace {

constexpr Index kWidth = 64, kTokens = 16, kSentences = 2;
constexpr double kEta = 0.01, kRate = 1e-4;

}  // namespace

OutputShifts output_shifts(Index layers, NormPlacement norm) {
  Encoder encoder(layers,
                  {.d_model = kWidth, .heads = 4, .d_ff = 4 * kWidth, .dropout = 0, .norm = norm});
  for (const Var& p : encoder.parameters())
    if (p.rank() > 1) xavier_uniform_(p.value());
  Shape shape{kSentences, kTokens, kWidth};
  Tensor x = gaussian(shape), dy = gaussian(shape);
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

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const auto depths = sizes<Index>(small, {2, 4, 8}, {3, 6, 12, 24, 48});
  const int draws = small ? 1 : 16;
  for (NormPlacement norm : {NormPlacement::Post, NormPlacement::Pre}) {
    bool post = norm == NormPlacement::Post;
    const char* name = post ? "post-norm" : "pre-norm";
    std::string key = post ? "post" : "pre";
    for (Index layers : depths) {
      OutputShifts mean;
      for (int i = 0; i < draws; ++i) {
        OutputShifts s = output_shifts(layers, norm);
        mean.random += s.random / draws;
        mean.update += s.update / draws;
      }
      m.curve("random", name, static_cast<double>(layers), mean.random);
      m.curve("update", name, static_cast<double>(layers), mean.update);
    }
    auto r2 = [&](bool linear, double last) {
      Series c = m.points("random", name, -kInf, last);
      if (!linear)
        for (double& n : c.x) n = std::log(n);
      return fit_line(c.x, c.y).r2;
    };
    m.values[key + "_r2_24"] = r2(post, 24);  // the depths in use, before tokens have become one
    m.values[key + "_r2"] = r2(post, kInf);
    m.values[key + "_better"] = r2(post, kInf) - r2(!post, kInf);
    m.values[key + "_exponent"] = m.exponent("random", name);
    m.values[key + "_update"] = m.exponent("update", name);
  }
  return m;
}

}  // namespace glim::dependence
