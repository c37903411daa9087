// logits: how large the scores of attention get, over the learning rate, without and with norms of queries and keys.
//
// Wortsman et al. 2023 (arXiv 2309.14322), section 3.1: models of 10 M weights and more whose rate is too high fail as large
// models do. The attention logits S grow until the softmax is one-hot, and QK norm (Dehghani et al. 2023, arXiv
// 2302.05442; nn/attention/head_options.hpp) prevents it. How a model bears a high rate is its
//
//   sensitivity   mean over rates η of min(L(η), L₀) - L*     L₀ a blind guess, L* the least loss of any rate
//
// Here a gpt of 2 layers reads n random symbols, and then the same n again, which attention alone can predict.
#include <algorithm>
#include <cmath>

#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "tensor/ops/index.hpp"
#include "tools/measure/probe.hpp"
#include "tools/study/measures.hpp"

namespace glim::logits {
namespace {

constexpr Index kSymbols = 16, kLength = 12, kBatch = 16;
const double kBlind = std::log(static_cast<double>(kSymbols));

Tensor twice(Index count, RandomKey key) {
  const Tensor once = random_integers({count, kLength}, 0, kSymbols, key);
  return concatenate(std::vector<Tensor>{once, once}, 1);
}

// The loss of the second half, whose first symbol follows the last of the first half.
Var loss_of(Gpt& model, const Tensor& ids) {
  const Var logits = model(narrow(ids, 1, 0, 2 * kLength - 1));
  return cross_entropy(narrow(logits, 1, kLength - 1, kLength), narrow(ids, 1, kLength, kLength));
}

double least(const std::vector<double>& losses) {
  return *std::min_element(losses.begin(), losses.end());
}

}  // namespace

Trained train(std::uint64_t seed, bool qk_norm, double rate, Index updates) {
  generator().set_state(seed, 0);
  GptConfig c;
  c.vocab = kSymbols, c.context = 2 * kLength, c.d_model = 32, c.heads = 2, c.layers = 2;
  c.d_ff = 64, c.init = 1 / std::sqrt(32.0), c.qk_norm = qk_norm;
  Gpt model(c);
  const Tensor held_out = twice(256, {seed, 1});
  const NamedParameters parameters = model.named_parameters();
  Adam adam(parameters, {.beta2 = 0.95});
  const Schedule schedule = cosine_schedule(rate, updates / 20, updates + 1);
  Trained trained{kBlind, 0};
  try {
    for (Index t = 1; t <= updates; ++t) {
      adam.zero_grad();
      {
        Tape tape;
        tape.backward(loss_of(model, twice(kBatch, {seed, 1 + static_cast<std::uint64_t>(t)})));
      }
      clip_gradient_norm(parameters, 1);
      adam.set_rate(schedule.rate(t));
      adam.step();
      if (t % 20 != 0) continue;
      const Probed inside =
          probe_inside(model, 4, [&](Index i) { model(narrow(held_out, 0, i, 1)); });
      for (const ProbedAttention& a : inside.attention)
        for (double s : a.score) trained.score = std::max(trained.score, s);
      show_step(t, updates);
    }
  } catch (const NonFiniteError&) {
    return trained;
  }
  NoGrad no_tape;
  const double loss = loss_of(model, held_out).item();
  if (loss < kBlind) trained.loss = loss;  // not for NaN
  return trained;
}

double sensitivity(const std::vector<double>& losses) {
  double total = 0;
  for (double loss : losses) total += loss - least(losses);
  return total / static_cast<double>(losses.size());
}

double highest(const std::vector<double>& rates, const std::vector<double>& losses) {
  double rate = 0;
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (losses[i] <= least(losses) + kBlind / 10) rate = rates[i];
  return rate;
}

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  const std::vector<double> rates =
      sizes<double>(small, {1e-2, 0.1}, {1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3});
  std::vector<double> losses[2], scores[2];
  for (const bool norm : {false, true})
    for (const double rate : rates) {
      const Trained trained = train(seed, norm, rate, small ? 60 : 300);
      losses[norm].push_back(trained.loss);
      scores[norm].push_back(trained.score);
      const std::string name = norm ? "QK norm" : "no norm";
      m.curve("loss", name, rate, trained.loss);
      m.curve("score", name, rate, trained.score);
    }
  m.values["learned"] = least(losses[0]) / kBlind;
  m.values["growth"] = scores[0].back() / scores[0].front();
  m.values["bounded"] = scores[1].back() / scores[0].back();
  m.values["sensitivity"] = sensitivity(losses[1]) / sensitivity(losses[0]);
  m.values["gain"] = highest(rates, losses[1]) / highest(rates, losses[0]);
  m.values["score_without"] = scores[0].back();
  m.values["score_with"] = scores[1].back();
  m.values["best_with"] = least(losses[1]) / kBlind;
  return m;
}

}  // namespace glim::logits
