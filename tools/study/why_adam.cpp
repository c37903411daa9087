// why-adam: why Adam is ahead of SGD on a language model. Three causes, each with the test that its paper suggests.
//
//   blocks    Zhang et al. 2024 (arXiv 2402.16788): spectra of the Hessian differ from one block (a parameter) to
//             another, so that one rate does not fit all. Test: SGD whose rate of block b is c/λ_max(H_b) at the start.
//   words     Kunstner et al. 2024 (arXiv 2402.19449): most words are rare, and SGD learns rare ones slowly.
//             Test: the gap on rare and on frequent words, and the gap where all words are equally frequent.
//   batches   Srećković, Geiping & Orvieto 2025 (arXiv 2506.12543): with small batches SGD with momentum keeps up.
//             Test: the gap with batches of 2 sequences, for as many sequences in all.
//
// Gap: the held-out loss of SGD less that of Adam, each at the best rate of its grid.
#include <algorithm>
#include <cmath>
#include <memory>

#include "autograd/curvature.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/sequences.hpp"
#include "tools/study/statistics.hpp"

namespace glim::why_adam {
namespace {

constexpr std::uint64_t kFirst = 1 << 20;  // of the streams of texts

struct Setting {
  std::uint64_t seed;
  bool uniform;  // all words are equally frequent
  Index batch, sequences, vocab;
  Successions draw(Index count, std::uint64_t stream) const {
    return successions(vocab, count, 16, {seed, kFirst + stream}, seed, uniform);
  }
};

std::unique_ptr<Gpt> fresh(const Setting& s) {
  generator().set_state(s.seed, 0);
  GptConfig c;
  c.vocab = s.vocab, c.context = 16, c.d_model = 32, c.heads = 2, c.layers = 1;
  c.init = 1 / std::sqrt(32.0);
  return std::make_unique<Gpt>(c);
}

struct Losses {
  double all, frequent, rare;  // the latter two: of the words that make up half of the text each
};

// The losses where all are finite and below that of a blind guess, else that of a blind guess.
Losses held_out(Gpt& model, const Setting& s) {
  const double blind = std::log(static_cast<double>(s.vocab));
  NoGrad no_tape;
  const Successions text = s.draw(256, 1);
  const auto log_p =
      log_softmax(model(text.ids), -1).value().to(DType::Float64).to_vector<double>();
  const auto targets = text.targets.to_vector<Index>();
  std::vector<double> counts(static_cast<std::size_t>(s.vocab));
  for (Index t : targets) ++counts[static_cast<std::size_t>(t)];
  std::vector<Index> order = targets;  // the most frequent word first
  std::ranges::sort(order, [&](Index a, Index b) {
    const double x = counts[static_cast<std::size_t>(a)], y = counts[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  const Index middle = order[order.size() / 2];
  std::vector<double> all, frequent, rare;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double loss =
        -log_p[i * static_cast<std::size_t>(s.vocab) + static_cast<std::size_t>(targets[i])];
    all.push_back(loss);
    const double count = counts[static_cast<std::size_t>(targets[i])],
                 limit = counts[static_cast<std::size_t>(middle)];
    (count > limit || (count == limit && targets[i] <= middle) ? frequent : rare).push_back(loss);
  }
  if (!(mean_of(all) < blind)) return {blind, blind, blind};
  return {mean_of(all), mean_of(frequent), mean_of(rare)};
}

// SGD has momentum 0.9, and a rate for each block if `curvatures` has λ_max of each.
Losses train(const Setting& s, bool adam, double rate, const std::vector<double>& curvatures = {}) {
  const std::unique_ptr<Gpt> model = fresh(s);
  const NamedParameters parameters = model->named_parameters();
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  for (const auto& [name, leaf] : parameters) {
    const NamedParameters one{{name, leaf}};
    if (adam)
      optimizers.push_back(std::make_unique<Adam>(one));
    else
      optimizers.push_back(std::make_unique<Sgd>(one, SgdOptions{.momentum = 0.9}));
  }
  const Index updates = s.sequences / s.batch;
  const Schedule schedule = cosine_schedule(rate, updates / 10, updates + 1);
  for (Index t = 1; t <= updates; ++t) {
    const Successions text = s.draw(s.batch, 1 + static_cast<std::uint64_t>(t));
    Tape tape;
    const Var loss = cross_entropy((*model)(text.ids), text.targets);
    if (!std::isfinite(loss.item())) break;
    tape.backward(loss);
    for (std::size_t i = 0; i < optimizers.size(); ++i) {
      optimizers[i]->set_rate(schedule.rate(t) / (curvatures.empty() ? 1 : curvatures[i]));
      optimizers[i]->step();
      optimizers[i]->zero_grad();
    }
    if (t % 50 == 0) show_step(t, updates);
  }
  return held_out(*model, s);
}

struct Best {
  Losses losses;
  bool inside;  // the best rate is neither end of the grid
};
Best best(Measurement& m, const std::string& plot, const std::string& name, const Setting& s,
          bool adam, const std::vector<double>& rates, const std::vector<double>& curvatures = {}) {
  std::vector<Losses> losses;
  for (const double rate : rates) {
    losses.push_back(train(s, adam, rate, curvatures));
    m.curve(plot, name, rate, losses.back().all);
  }
  const auto least = std::min_element(
      losses.begin(), losses.end(), [](const Losses& a, const Losses& b) { return a.all < b.all; });
  return {*least, least != losses.begin() && least + 1 != losses.end()};
}

std::vector<double> curvatures_of(Gpt& model, const Successions& text) {
  model.to(DType::Float64);
  Tape tape;
  const Var loss = cross_entropy(model(text.ids), text.targets);
  const Hessian hessian(tape, loss, model.parameters());
  std::vector<double> largest;
  for (std::size_t block = 0; block < model.parameters().size(); ++block) {
    const Ritz r = hessian.lanczos({.tolerance = 1e-2}, block);
    largest.push_back(std::max(std::abs(r.values.front()), std::abs(r.values.back())));
  }
  return largest;
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  const Index vocab = small ? 64 : 128, sequences = small ? 320 : 3200;
  const auto adams = sizes<double>(small, {1e-2}, {3e-3, 1e-2, 3e-2, 0.1, 0.3}),
             descents = sizes<double>(small, {0.1}, {0.03, 0.1, 0.3, 1, 3}),
             by_blocks = sizes<double>(small, {0.1}, {0.01, 0.03, 0.1, 0.3, 1, 3});
  const Setting large{seed, false, 32, sequences, vocab}, uniform{seed, true, 32, sequences, vocab},
      small_batch{seed, false, 2, sequences, vocab};
  auto spread = [&](const Setting& s) {
    std::vector<double> blocks = curvatures_of(*fresh(s), s.draw(32, 1));
    const double most = *std::max_element(blocks.begin(), blocks.end());
    m.values[s.uniform ? "uniform_blocks" : "blocks"] =
        most / *std::min_element(blocks.begin(), blocks.end());
    for (double& b : blocks) b = std::max(b, most / 100);
    return blocks;
  };
  const std::vector<double> blocks = spread(large);
  spread(uniform);
  const Best adam = best(m, "large", "Adam", large, true, adams),
             sgd = best(m, "large", "SGD", large, false, descents),
             by_block = best(m, "large", "SGD, c by block", large, false, by_blocks, blocks),
             even_adam = best(m, "uniform", "Adam", uniform, true, adams),
             even_sgd = best(m, "uniform", "SGD", uniform, false, descents),
             small_adam = best(m, "small", "Adam", small_batch, true,
                               sizes<double>(small, {1e-2}, {1e-3, 3e-3, 1e-2, 3e-2, 0.1})),
             small_sgd = best(m, "small", "SGD", small_batch, false,
                              sizes<double>(small, {0.1}, {0.01, 0.03, 0.1, 0.3, 1}));
  m.values["inside"] = 1;
  for (const Best* b : {&adam, &sgd, &by_block, &even_adam, &even_sgd, &small_adam, &small_sgd})
    m.values["inside"] *= b->inside;
  const double gap = sgd.losses.all - adam.losses.all;
  m.values["learned"] = adam.losses.all / std::log(static_cast<double>(vocab));
  m.values["gap"] = gap;
  m.values["by_block"] = (by_block.losses.all - adam.losses.all) / gap;
  m.values["rare"] =
      (sgd.losses.rare - adam.losses.rare) / (sgd.losses.frequent - adam.losses.frequent);
  m.values["uniform"] = (even_sgd.losses.all - even_adam.losses.all) / gap;
  m.values["small_batch"] = (small_sgd.losses.all - small_adam.losses.all) / gap;
  return m;
}

}  // namespace glim::why_adam
