// edge: where a Transformer's curvature settles when it is trained with all examples in every update.
//
//   descent   θ ← θ - η g                      unstable above λ_max(H) = 2/η          Cohen et al. 2021, arXiv 2103.00065
//   Adam      θ ← θ - η m̂ / (√v̂ + ε)           unstable above λ_max(P⁻¹H) = 38/η      Cohen et al. 2022, arXiv 2207.14484
//
// with P = √v̂ + ε and β₁ = 0.9. A quadratic loss grows there. Networks do not, and their λ_max is said to stay at the
// threshold. Here a gpt learns 32 sentences of a random grammar in which each token allows three next ones. "Level" is
// η λ_max over the threshold: its median from the first measurement of 0.9 or more on.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>

#include "autograd/curvature.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"
#include "tools/study/measures.hpp"

namespace glim::edge {

double level_of(const std::vector<double>& levels) {
  const auto first = std::ranges::find_if(levels, [](double x) { return x >= 0.9; });
  std::vector<double> rest(first, levels.end());
  if (rest.size() < 10) return 0;
  std::ranges::sort(rest);
  return rest[rest.size() / 2];
}

Edge train(std::uint64_t seed, bool adam, double rate, Index updates, Index every) {
  constexpr Index kVocab = 12, kLength = 9, kSentences = 32;
  generator().set_state(seed, 0);
  GptConfig c;
  c.vocab = kVocab, c.context = kLength - 1, c.d_model = 16, c.heads = 2, c.layers = 1;
  c.d_ff = 32, c.init = 0.2;
  Gpt model(c);
  model.to(DType::Float64);
  // Token s is followed by one of three.
  const std::vector<Index>
      next = random_integers({kVocab * 3}, 0, kVocab, {seed, 1}).to_vector<Index>(),
      draws = random_integers({kSentences * kLength}, 0, 3, {seed, 2}).to_vector<Index>();
  std::vector<Index> ids, targets;
  for (Index s = 0; s < kSentences; ++s) {
    Index token = s % kVocab;
    for (Index t = 0; t + 1 < kLength; ++t) {
      ids.push_back(token);
      token = next[static_cast<std::size_t>(token * 3 +
                                            draws[static_cast<std::size_t>(s * kLength + t)])];
      targets.push_back(token);
    }
  }
  const Tensor x = from_vector(ids, {kSentences, kLength - 1}),
               y = from_vector(targets, {kSentences, kLength - 1});
  const NamedParameters parameters = model.named_parameters();
  std::unique_ptr<Optimizer> optimizer;
  if (adam)
    optimizer = std::make_unique<Adam>(parameters, AdamOptions{.rate = rate, .beta2 = 0.99});
  else
    optimizer = std::make_unique<Sgd>(parameters, SgdOptions{.rate = rate});
  Edge edge;
  for (Index t = 1; t <= updates; ++t) {
    optimizer->zero_grad();
    Tape tape;
    const Var loss = cross_entropy(model(x), y);
    edge.loss = loss.item();
    if (!std::isfinite(edge.loss)) return edge;
    tape.backward(loss, {.retain = true});
    if (t > 1 && t % every == 0) {
      const Optimizer::Stability stability = optimizer->stability();
      std::vector<Var> xs;
      std::vector<Tensor> p;
      for (const auto& [name, leaf] : parameters) {
        xs.push_back(leaf);
        if (adam) p.push_back(stability.preconditioner.at(name));
      }
      const Ritz r = Hessian(tape, loss, xs, p).lanczos({.tolerance = 1e-2});
      edge.updates.push_back(static_cast<double>(t));
      edge.levels.push_back(rate * r.values.back() / stability.threshold);
    }
    optimizer->step();
  }
  return edge;
}

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  const Index every = 20;
  double loss = 0;
  for (const bool adam : {true, false}) {
    const auto rates =
        adam ? std::vector<double>{1e-3, 2e-3, 4e-3} : std::vector<double>{0.2, 0.4, 0.8};
    const Index updates = small ? 240 : adam ? 1500 : 3000;
    for (std::size_t k = 0; k < rates.size(); ++k) {
      const Edge edge = train(seed, adam, rates[k], updates, every);
      const std::string word = adam ? "adam" : "descent";
      m.values[word + "_" + std::to_string(k + 1)] = level_of(edge.levels);
      loss = std::max(loss, edge.loss);
      for (std::size_t i = 0; i < edge.levels.size(); ++i)
        m.curve(word, fmt::format("η {}", rates[k]), edge.updates[i], edge.levels[i]);
      m.curve(word, "threshold", static_cast<double>(every), 1, CurveStyle::Reference);
      m.curve(word, "threshold", static_cast<double>(updates), 1, CurveStyle::Reference);
    }
  }
  m.values["loss"] = loss / std::log(12.0);
  return m;
}

}  // namespace glim::edge
