// sinks: whether heads that have nothing to do attend to the first token, over forms of attention and optimizers.
//
// Guo et al. 2024 (arXiv 2410.13835): a small gpt learns the Bigram-Backcopy task. A few tokens are triggers:
//
//   <s> x_1 … x_T      x_{n+1} = x_{n-1} if x_n is a trigger, else drawn from the row of x_n of a Markov chain
//
// Only triggers need attention. Where the other tokens attend is measured in each layer, over queries t ≥ 8:
//
//   sink    mean over queries of |A_t0| / Σ_s |A_ts|; 0 where all weights are
//   drain   ‖v_0‖ over the mean ‖v_s‖ of other tokens
//   peak    ‖x_0‖ over the mean ‖x_s‖ of what a layer but the first reads
//
// A model's sink is that of the layer with the largest, and the drain is that layer's. Its peak is the largest.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim::sinks {
namespace {

constexpr std::size_t kFirst = 8;  // of the queries that are measured

// The norm of row 0 of x (B, T, D) over the mean norm of the others.
double first_over_others(const Tensor& x) {
  const std::vector<double> norms = row_norms(x);
  const auto length = static_cast<std::size_t>(x.size(1));
  std::vector<double> first, others;
  for (std::size_t i = 0; i < norms.size(); ++i)
    (i % length == 0 ? first : others).push_back(norms[i]);
  return mean_of(first) / mean_of(others);
}

}  // namespace

Tensor backcopy(Index count, RandomKey key, std::uint64_t grammar) {
  std::vector<Index> ids;
  std::uint64_t draws = 0;
  auto drawn = [](double u) { return kTriggers + 1 + static_cast<Index>(u * kOthers); };
  for (Index row = 0; row < count; ++row) {
    ids.push_back(0);
    Index before = 0, now = drawn(uniform_at(key, draws++));
    for (Index t = 0; t < kLength; ++t) {
      ids.push_back(now);
      const double u = uniform_at(key, draws++);
      Index next = before;
      if (now > kTriggers) {
        // A quarter of all tokens are triggers; the others have four successors.
        const auto choice = static_cast<std::uint64_t>(u * 16);
        next =
            u < 0.25
                ? 1 + static_cast<Index>(u * 4 * kTriggers)
                : drawn(uniform_at({grammar, 9}, static_cast<std::uint64_t>(now) * 4 + choice % 4));
      }
      before = now;
      now = next;
    }
  }
  return from_vector(ids, {count, kLength + 1});
}

Extremes extremes(Gpt& model, const Tensor& ids) {
  NoGrad no_tape;
  const auto tokens = ids.to_vector<Index>();
  const auto length = static_cast<std::size_t>(ids.size(1));
  Extremes found{{-1}, 0, 0};
  Var x = model.wpe(model.wte(ids));
  for (std::size_t l = 0; l < model.transformer.layers.size(); ++l) {
    EncoderLayer& layer = model.transformer.layers[l];
    if (l > 0) found.peak = std::max(found.peak, first_over_others(x.value()));
    const Var h = layer.norm1(x);
    const Tensor weights =  // (B, T, T)
        abs(layer.self_attn(h, {.causal = true, .need_weights = true}).weights.value());
    const std::vector<double> a = weights.to(DType::Float64).to_vector<double>();
    std::vector<double> shares(kFirst);
    double queries = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i % length < kFirst || tokens[i] <= kTriggers) continue;
      ++queries;
      const double* row = &a[i * length];
      const double total = std::accumulate(row, row + length, 0.0);
      for (std::size_t s = 0; s < kFirst && total > 0; ++s) shares[s] += row[s] / total;
    }
    for (double& share : shares) share /= queries;
    if (shares[0] > found.sink()) {
      const Tensor v = layer.self_attn.in_proj.heads(h, InProjection::Value).value();
      found.shares = shares;
      found.drain = first_over_others(reshape(transpose(v, 1, 2).contiguous(), x.shape()));
    }
    x = layer(x, AttentionRequest{.causal = true});
  }
  return found;
}

Trained train(std::uint64_t seed, AttentionForm form, bool adam, Index layers, Index updates) {
  generator().set_state(seed, 0);
  GptConfig c;
  c.vocab = 1 + kTriggers + kOthers, c.context = kLength, c.d_model = 32, c.heads = 1;
  c.layers = layers, c.d_ff = 64, c.init = 1 / std::sqrt(32.0), c.attention_form = form;
  Gpt model(c);
  const NamedParameters parameters = model.named_parameters();
  std::unique_ptr<Optimizer> optimizer;
  if (adam)
    optimizer = std::make_unique<Adam>(parameters, AdamOptions{.beta2 = 0.99});
  else
    optimizer = std::make_unique<Sgd>(parameters, SgdOptions{.momentum = 0.9});
  const Schedule schedule = cosine_schedule(adam ? 1e-2 : 0.3, updates / 10, updates + 1);
  auto split = [](const Tensor& ids) {
    return std::pair{narrow(ids, 1, 0, kLength).contiguous(),
                     narrow(ids, 1, 1, kLength).contiguous()};
  };
  for (Index t = 1; t <= updates; ++t) {
    const auto [ids, targets] =
        split(backcopy(16, {seed, 1 + static_cast<std::uint64_t>(t)}, seed));
    {
      Tape tape;
      tape.backward(cross_entropy(model(ids), targets));
    }
    clip_gradient_norm(parameters, 1);
    optimizer->set_rate(schedule.rate(t));
    optimizer->step();
    optimizer->zero_grad();
    if (t % 50 == 0) show_step(t, updates);
  }
  NoGrad no_tape;
  const auto [ids, targets] = split(backcopy(128, {seed, 1}, seed));
  const Tensor log_p = log_softmax(model(ids), -1).value().to(DType::Float64);
  const auto tokens = ids.to_vector<Index>(), next = targets.to_vector<Index>();
  const auto values = log_p.to_vector<double>();
  std::vector<double> losses;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] >= 1 && tokens[i] <= kTriggers)
      losses.push_back(
          -values[i * static_cast<std::size_t>(c.vocab) + static_cast<std::size_t>(next[i])]);
  return {mean_of(losses) / std::log(static_cast<double>(c.vocab)), extremes(model, ids)};
}

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  const Index updates = small ? 20 : 4000;
  auto run = [&](const std::string& word, const char* name, AttentionForm form, bool adam,
                 Index layers = 3) {
    const Trained trained = train(seed, form, adam, layers, updates);
    for (std::size_t s = 0; s < kFirst; ++s)
      m.curve("weights", name, static_cast<double>(s), trained.found.shares[s]);
    m.values[word + "_loss"] = trained.loss;
    m.values[word + "_sink"] = trained.found.sink();
    m.values[word + "_drain"] = trained.found.drain;
    m.values[word + "_peak"] = trained.found.peak;
  };
  run("one", "softmax, Adam, 1 layer", AttentionForm::Softmax, true, 1);
  run("adam", "softmax, Adam", AttentionForm::Softmax, true);
  run("sgd", "softmax, SGD", AttentionForm::Softmax, false);
  run("relu", "ReLU, Adam", AttentionForm::Relu, true);
  run("linear", "linear, Adam", AttentionForm::Linear, true);
  run("relu_sgd", "ReLU, SGD", AttentionForm::Relu, false);
  return m;
}

}  // namespace glim::sinks
