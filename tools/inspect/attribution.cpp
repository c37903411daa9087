#include "tools/inspect/attribution.hpp"

#include <algorithm>
#include <set>

#include "nn/embedding.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/rollout.hpp"

namespace glim {
namespace {

void collect(const Module& module, const std::string& prefix,
             std::vector<std::pair<std::string, Embedding*>>& list) {
  for (const auto& [name, child] : module.children()) {
    std::string path = prefix.empty() ? name : prefix + "." + name;
    if (auto* e = dynamic_cast<Embedding*>(child)) list.emplace_back(path, e);
    collect(*child, path, list);
  }
}

// What a pass of the example is asked about.
struct Pass {
  explicit Pass(Example& example) : tape({.replay = true}) {
    example.loss();
    for (std::size_t i = 0; i < tape.nodes().size(); ++i) {
      int node = static_cast<int>(i);
      if (tape.path(node) == "log_probs") log_probs = tape.value(node);
      if (tape.nodes()[i].name != "index_select" || tape.nodes()[i].shape.rank() != 3) continue;
      // The source is read before the target.
      Index length = tape.nodes()[i].shape[1];
      if (!source.defined() && length == static_cast<Index>(example.source().size()))
        source = tape.value(node);
      else if (!target.defined() && length == static_cast<Index>(example.target_in().size()))
        target = tape.value(node);
    }
  }
  bool whole() const { return log_probs.defined() && source.defined() && target.defined(); }

  Tape tape;
  Var log_probs, source, target;  // (T, V), (1, S, D), (1, T, D)
};

// Σ_d x dx of each token.
std::vector<double> by_token(const Tensor& x, const Tensor& dx) {
  return reshape(sum(mul(x.to(DType::Float64), dx.to(DType::Float64)), {-1}), {-1})
      .to_vector<double>();
}

}  // namespace

Attribution attribute(Example& example, int steps) {
  Attribution a;
  a.steps = steps;
  const std::vector<std::int64_t> said = example.target_out_ids();
  auto t_count = static_cast<Index>(said.size());
  // dy picks ln p(y_t) of one row, or of all.
  auto pick = [&](const Var& log_probs, Index only) {
    Tensor dy = zeros(log_probs.shape(), log_probs.dtype());
    for (Index t = 0; t < t_count; ++t)
      if (only < 0 || t == only)
        select(select(dy, 0, t), 0, said[static_cast<std::size_t>(t)]).fill_(1);
    return dy;
  };
  auto log_prob = [&](const Var& log_probs) { return dot(log_probs.value(), pick(log_probs, -1)); };
  Tensor source, target;
  {
    Pass pass(example);
    if (!pass.whole()) return a;
    a.log_prob = log_prob(pass.log_probs);
    source = pass.source.value();
    target = pass.target.value();
    a.to_source = empty({t_count, source.size(1)}, DType::Float64);
    a.to_target = empty({t_count, target.size(1)}, DType::Float64);
    for (Index t = 0; t < t_count; ++t) {
      auto d = pass.tape.grad(pass.log_probs, {pass.source, pass.target}, pick(pass.log_probs, t),
                              {.retain = true});
      auto put = [&](const Tensor& row, const std::vector<double>& values) {
        row.copy_(from_vector(values, {static_cast<Index>(values.size())}));
      };
      put(select(a.to_source, 0, t), by_token(source, d[0].value()));
      put(select(a.to_target, 0, t), by_token(target, d[1].value()));
    }
  }
  // Embeddings scaled by α are read in place of the model's; a generator that shares their weight
  // keeps its own.
  std::vector<std::pair<std::string, Embedding*>> tables;
  collect(example.model(), "", tables);
  std::vector<Var> before;
  for (auto& [name, e] : tables) before.push_back(e->weight);
  struct PutBack {
    std::vector<std::pair<std::string, Embedding*>>& tables;
    std::vector<Var>& before;
    ~PutBack() {
      for (std::size_t i = 0; i < tables.size(); ++i) tables[i].second->weight.tie(before[i]);
    }
  } put_back{tables, before};
  auto scaled = [&](double alpha) {
    for (std::size_t i = 0; i < tables.size(); ++i)
      tables[i].second->weight.tie(Var::leaf(mul(before[i].value(), alpha)));
  };
  std::vector<double> from_source(example.source().size()), from_target(example.target_in().size());
  for (int k = 0; k < steps; ++k) {
    scaled((k + 0.5) / steps);
    Pass pass(example);
    auto d = pass.tape.grad(pass.log_probs, {pass.source, pass.target}, pick(pass.log_probs, -1));
    auto add_up = [&](std::vector<double>& total, const Tensor& x, const Tensor& dx) {
      auto one = by_token(x, dx);
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += one[i] / steps;
    };
    add_up(from_source, source, d[0].value());
    add_up(from_target, target, d[1].value());
  }
  scaled(0);
  a.baseline = log_prob(Pass(example).log_probs);
  a.gap = -(a.log_prob - a.baseline);
  for (double g : from_source) a.gap += g;
  for (double g : from_target) a.gap += g;
  a.integrated_source = std::move(from_source);
  a.integrated_target = std::move(from_target);
  return a;
}

TokenRollout token_rollout(const std::vector<AttentionView>& views, Index s, Index t) {
  auto mixture = [](const AttentionView& v) {
    return mean(v.a.to(DType::Float64), {0});
  };  // (T, S)
  auto half = [](const Tensor& x, const Tensor& y) { return add(mul(x, 0.5), mul(y, 0.5)); };
  TokenRollout r{eye(s, DType::Float64), zeros({t, s}, DType::Float64), eye(t, DType::Float64)};
  std::vector<Tensor> encoder;
  for (const AttentionView& v : views)
    if (v.side == AttentionSide::EncoderSelf) encoder.push_back(v.a.to(DType::Float64));
  if (!encoder.empty()) r.encoder = rollout(encoder);
  for (const AttentionView& v : views) {
    Tensor a = mixture(v);
    switch (v.side) {
      case AttentionSide::EncoderSelf:
        break;
      case AttentionSide::DecoderSelf:
        r.source = half(r.source, matmul(a, r.source));
        r.target = half(r.target, matmul(a, r.target));
        break;
      case AttentionSide::Cross:
        r.source = half(r.source, matmul(a, r.encoder));
        r.target = mul(r.target, 0.5);
        break;
    }
  }
  return r;
}

}  // namespace glim
