#include "tools/inspect/attribution.hpp"

#include "nn/embedding.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/rollout.hpp"

namespace glim {
namespace {

void collect(const Module& module, std::vector<Embedding*>& list) {
  for (const auto& [name, child] : module.children()) {
    if (auto* e = dynamic_cast<Embedding*>(child)) list.push_back(e);
    collect(*child, list);
  }
}

// One run of the model, and the parts of its tape that are asked about. A recorded Pass has the model at one point;
// the integral needs it at others.
struct Run {
  explicit Run(Example& example) : tape({.replay = true}) {
    example.loss();
    const auto s = std::ssize(example.source), t = std::ssize(example.target_in);
    for (std::size_t i = 0; i < tape.nodes().size(); ++i) {
      int node = static_cast<int>(i);
      if (tape.path(node) == "log_probs") log_probs = tape.value(node);
      if (tape.nodes()[i].name() != "index_select" || tape.nodes()[i].shape.rank() != 3) continue;
      // The source is read before the target.
      Index length = tape.nodes()[i].shape[1];
      if (!source.defined() && length == s)
        source = tape.value(node);
      else if (!target.defined() && length == t)
        target = tape.value(node);
    }
    whole = log_probs.defined() && source.defined() == (s > 0) && target.defined() == (t > 0);
    for (const Var& side : {source, target})
      if (side.defined()) read.push_back(side);
  }

  Tape tape;
  Var log_probs, source, target;  // (T, V), (1, S, D), (1, T, D)
  std::vector<Var> read;          // those of the two that there are
  bool whole = false;
};

// Σ_d x dx of each token.
std::vector<double> by_token(const Tensor& x, const Tensor& dx) {
  return reshape(sum(mul(x.to(DType::Float64), dx.to(DType::Float64)), {-1}), {-1})
      .to_vector<double>();
}

}  // namespace

Attribution attribute(Example& example, int steps) {
  Attribution a;
  const std::vector<std::int64_t> targets = example.target_out_ids;
  auto t_count = static_cast<Index>(targets.size());
  // dy picks ln p(y_t) of one row, or of all.
  auto pick = [&](const Var& log_probs, Index only) {
    Tensor dy = zeros(log_probs.shape(), log_probs.dtype());
    for (Index t = 0; t < t_count; ++t)
      if (only < 0 || t == only)
        select(select(dy, 0, t), 0, targets[static_cast<std::size_t>(t)]).fill_(1);
    return dy;
  };
  auto log_prob = [&](const Var& log_probs) { return dot(log_probs.value(), pick(log_probs, -1)); };
  struct Side {
    Tensor x;
    Tensor* products;
    std::vector<double>* integrated;
  };
  std::vector<Side> sides;
  {
    Run run(example);
    if (!run.whole) return a;
    a.steps = steps;
    a.log_prob = log_prob(run.log_probs);
    if (run.source.defined())
      sides.push_back({run.source.value(), &a.to_source, &a.integrated_source});
    if (run.target.defined())
      sides.push_back({run.target.value(), &a.to_target, &a.integrated_target});
    for (Side& side : sides) {
      *side.products = empty({t_count, side.x.size(1)}, DType::Float64);
      side.integrated->assign(static_cast<std::size_t>(side.x.size(1)), 0);
    }
    for (Index t = 0; t < t_count; ++t) {
      auto d = run.tape.grad(run.log_probs, run.read, pick(run.log_probs, t), {.retain = true});
      for (std::size_t i = 0; i < sides.size(); ++i)
        select(*sides[i].products, 0, t)
            .copy_(from_vector(by_token(sides[i].x, d[i].value()), {sides[i].x.size(1)}));
    }
  }
  // Embeddings scaled by α are read in place of the model's; a generator that shares their weight
  // keeps its own.
  std::vector<Embedding*> tables;
  collect(example.model(), tables);
  std::vector<Var> before;
  for (Embedding* e : tables) before.push_back(e->weight);
  struct PutBack {
    std::vector<Embedding*>& tables;
    std::vector<Var>& before;
    ~PutBack() {
      for (std::size_t i = 0; i < tables.size(); ++i) tables[i]->weight.tie(before[i]);
    }
  } put_back{tables, before};
  auto scaled = [&](double alpha) {
    for (std::size_t i = 0; i < tables.size(); ++i)
      tables[i]->weight.tie(Var::leaf(mul(before[i].value(), alpha)));
  };
  for (int k = 0; k < steps; ++k) {
    scaled((k + 0.5) / steps);
    Run run(example);
    auto d = run.tape.grad(run.log_probs, run.read, pick(run.log_probs, -1));
    for (std::size_t i = 0; i < sides.size(); ++i) {
      auto one = by_token(sides[i].x, d[i].value());
      for (std::size_t j = 0; j < one.size(); ++j) (*sides[i].integrated)[j] += one[j] / steps;
    }
  }
  scaled(0);
  a.baseline = log_prob(Run(example).log_probs);
  a.gap = -(a.log_prob - a.baseline);
  for (const Side& side : sides)
    for (double g : *side.integrated) a.gap += g;
  return a;
}

TokenRollout token_rollout(const std::vector<AttentionView>& views, Index s, Index t) {
  auto half = [](const Tensor& x, const Tensor& y) { return add(mul(x, 0.5), mul(y, 0.5)); };
  TokenRollout r{eye(s, DType::Float64), zeros({t, s}, DType::Float64), eye(t, DType::Float64)};
  std::vector<Tensor> encoder;
  for (const AttentionView& v : views)
    if (v.side == AttentionSide::EncoderSelf) encoder.push_back(v.a.to(DType::Float64));
  if (!encoder.empty()) r.encoder = rollout(encoder);
  for (const AttentionView& v : views) {
    Tensor a = mean(v.a.to(DType::Float64), {0});  // (T, S)
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
