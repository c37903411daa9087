// width: whether the best rate stays when a model gets wider.
//
// Yang et al. 2022 (arXiv 2203.03466), table 8, for Adam, at D/D₀ times the width D₀ = 16 of the smallest model:
//
//                             standard          muP
//   matrices of the layers    σ 1/√D, rate η    σ 1/√D, rate η D₀/D
//   embeddings                σ 1/√D, rate η    σ 1/√D₀, rate η
//   logits                    h Wᵀ              h Wᵀ D₀/D       W the embedding's
//   scores                    Q Kᵀ/√Dh          Q Kᵀ √Dh₀/Dh
//
// Both are the same model at D₀. Coordinate check (appendix D.1 there): how much 4 updates at one rate change a layer's output, on a
// batch that stays, as a power of the width. In muP no change grows with the width: a layer with a slope above 0 departs.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>

#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/statistics.hpp"

namespace glim::width {
namespace {

const std::vector<std::string> kLayers{"embeddings", "layer 0", "layer 1", "logits"};
constexpr Index kBase = 16, kVocab = 64, kLength = 16, kBatch = 16;

// A gpt whose logits are multiplied by `factor`, and the optimizers of its layers' matrices and of all else.
struct Wide {
  std::unique_ptr<Gpt> model;
  std::unique_ptr<Adam> matrices, rest;
  double factor = 1;

  Wide(std::uint64_t seed, Index d, bool mup) {
    generator().set_state(seed, 0);
    const double width = static_cast<double>(d), base = static_cast<double>(kBase);
    GptConfig c;
    c.vocab = kVocab, c.context = kLength, c.d_model = d, c.heads = 2, c.layers = 2;
    c.d_ff = 2 * d, c.init = 1 / std::sqrt(width);
    if (mup) c.attention_scale = std::sqrt(base / 2) / (width / 2);
    model = std::make_unique<Gpt>(c);
    if (mup) {
      factor = base / width;
      for (const Var& table : {Var(model->wte.weight), Var(model->wpe.weight)})
        table.value().copy_(std::sqrt(width / base) * table.value());
    }
    NamedParameters inside, outside;
    for (const auto& [name, p] : model->named_parameters())
      (name.starts_with("transformer.layers.") && p.rank() == 2 ? inside : outside)
          .emplace_back(name, p);
    matrices = std::make_unique<Adam>(inside);
    rest = std::make_unique<Adam>(outside);
  }
  Var logits(const Tensor& ids) { return (*model)(ids)*factor; }
  void update(const Successions& text, double rate) {
    {
      Tape tape;
      tape.backward(cross_entropy(logits(text.ids), text.targets));
    }
    matrices->set_rate(rate * factor);
    rest->set_rate(rate);
    for (Adam* adam : {matrices.get(), rest.get()}) {
      adam->step();
      adam->zero_grad();
    }
  }
};

Successions text_of(std::uint64_t seed, Index count, Index stream) {
  return successions(kVocab, count, kLength, {seed, 1000 + static_cast<std::uint64_t>(stream)},
                     seed);
}

double loss_after(std::uint64_t seed, Index d, bool mup, double rate, Index updates) {
  Wide wide(seed, d, mup);
  const Schedule schedule = cosine_schedule(rate, updates / 10, updates + 1);
  for (Index t = 1; t <= updates; ++t) wide.update(text_of(seed, kBatch, t), schedule.rate(t));
  NoGrad no_tape;
  const Successions held_out = text_of(seed, 256, 0);
  const double loss = cross_entropy(wide.logits(held_out.ids), held_out.targets).item(),
               blind = std::log(static_cast<double>(kVocab));
  return loss < blind ? loss : blind;
}

// Embeddings, the output of each layer, logits.
std::vector<Tensor> outputs(Wide& wide, const Tensor& ids) {
  NoGrad no_tape;
  Var x = wide.model->wpe(wide.model->wte(ids));
  std::vector<Tensor> all{x.value().clone()};
  for (EncoderLayer& layer : wide.model->transformer.layers)
    all.push_back((x = layer(x, AttentionRequest{.causal = true})).value().clone());
  all.push_back(wide.logits(ids).value().clone());
  return all;
}

}  // namespace

double optimum(const std::vector<double>& rates, const std::vector<double>& losses) {
  const auto best =
      static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
  if (best == 0 || best + 1 == rates.size()) return std::log(rates[best]);
  // The vertex of the parabola through the least loss and its neighbours, over ln η.
  const double before = losses[best - 1] - losses[best], after = losses[best + 1] - losses[best],
               step = std::log(rates[best + 1] / rates[best]);
  return std::log(rates[best]) + step * (before - after) / (2 * (before + after));
}

std::vector<double> changes(std::uint64_t seed, Index d, bool mup) {
  Wide wide(seed, d, mup);
  const Successions text = text_of(seed, kBatch, 0);
  const std::vector<Tensor> before = outputs(wide, text.ids);
  for (int t = 0; t < 4; ++t) wide.update(text, 1e-2);
  const std::vector<Tensor> after = outputs(wide, text.ids);
  std::vector<double> rms;
  for (std::size_t i = 0; i < before.size(); ++i)
    rms.push_back(norm(after[i] - before[i]) / std::sqrt(static_cast<double>(before[i].numel())));
  return rms;
}

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  const auto widths = sizes<Index>(small, {16, 32}, {16, 32, 64}),
             checked = sizes<Index>(small, {16, 32}, {16, 32, 64, 128, 256});
  const auto rates = sizes<double>(small, {1e-3, 1e-2, 0.1},
                                   {2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2, 0.128, 0.256});
  m.values["inside"] = 1;
  for (const bool mup : {false, true}) {
    const std::string word = mup ? "mup" : "standard";
    std::vector<double> best;
    for (const Index d : widths) {
      std::vector<double> losses;
      for (const double rate : rates) {
        losses.push_back(loss_after(seed, d, mup, rate, small ? 5 : 150));
        m.curve(word, fmt::format("D {}", d), rate, losses.back());
      }
      best.push_back(optimum(rates, losses));
      if (best.back() <= std::log(rates.front()) || best.back() >= std::log(rates.back()))
        m.values["inside"] = 0;
      m.values[word + "_wide"] = *std::min_element(losses.begin(), losses.end());
    }
    m.values[word + "_shift"] = (best.front() - best.back()) / std::log(2);
    std::vector<double> d;
    std::vector<std::vector<double>> change;
    for (const Index wide : checked) {
      d.push_back(static_cast<double>(wide));
      change.push_back(changes(seed, wide, mup));
    }
    double steepest = -kInf;
    for (std::size_t layer = 0; layer < kLayers.size(); ++layer) {
      std::vector<double> of_layer;
      for (std::size_t i = 0; i < d.size(); ++i) {
        of_layer.push_back(change[i][layer]);
        m.curve(word + "_change", kLayers[layer], d[i], change[i][layer]);
      }
      const double slope = fit_power_law(d, of_layer).slope;
      m.values[fmt::format("{}_{}", word, layer)] = slope;
      steepest = std::max(steepest, slope);
    }
    m.values[word + "_slope"] = steepest;
  }
  return m;
}

}  // namespace glim::width
