#include "models/decoding/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "tensor/error.hpp"
#include "tensor/portable.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

// Logits as doubles, -∞ where a token is never drawn; and the largest of them.
struct Scores {
  std::vector<double> logit;
  double top = kNever;
};

Scores scores_of(const Tensor& logits, const SamplingOptions& o) {
  if (logits.rank() != 1) throw ShapeError("sampling", "logits must be (V,)", {{"logits", logits}});
  Scores s;
  s.logit = logits.to(DType::Float64).to_vector<double>();
  for (Index v : o.never)
    if (v >= 0 && v < logits.numel()) s.logit[v] = kNever;
  for (double l : s.logit) {
    if (std::isnan(l)) throw NonFiniteError("sampling", "a logit is not a number");
    s.top = std::max(s.top, l);
  }
  if (!std::isfinite(s.top)) throw NonFiniteError("sampling", "no token has a finite logit");
  return s;
}

}  // namespace

void check(const SamplingOptions& o, Index classes) {
  if (o.greedy) return;
  if (!(o.temperature >= 0 && std::isfinite(o.temperature)))
    throw ValueError("temperature",
                     number_text(o.temperature) + " is not a finite number from 0 on");
  if (o.top_k < 0 || o.top_k > classes)
    throw ValueError("top-k", std::to_string(o.top_k) + " lies outside 0 (all) to " +
                                  std::to_string(classes) + ", the size of the vocabulary");
  if (!(o.top_p > 0 && o.top_p <= 1))
    throw ValueError("top-p", number_text(o.top_p) + " lies outside (0, 1]");
}

std::vector<double> sampling_probs(const Tensor& logits, const SamplingOptions& o) {
  check(o, logits.numel());
  Scores s = scores_of(logits, o);
  std::vector<double> p(s.logit.size());
  if (o.greedy || o.temperature == 0) {
    auto best = std::find(s.logit.begin(), s.logit.end(), s.top);
    p[best - s.logit.begin()] = 1;
    return p;
  }
  double total = 0;
  for (std::size_t v = 0; v < p.size(); ++v) {
    p[v] = s.logit[v] > kNever ? portable::exp((s.logit[v] - s.top) / o.temperature) : 0;
    total += p[v];
  }
  auto classes = static_cast<Index>(p.size());
  if ((o.top_k > 0 && o.top_k < classes) || o.top_p < 1) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return p[a] > p[b]; });
    std::size_t kept = o.top_k > 0 ? o.top_k : classes;
    total = 0;
    for (std::size_t i = 0; i < kept; ++i) total += p[order[i]];
    if (o.top_p < 1) {
      double reached = 0;
      std::size_t nucleus = 0;
      while (nucleus < kept && reached < o.top_p * total) reached += p[order[nucleus++]];
      kept = nucleus;
      total = reached;
    }
    for (std::size_t i = kept; i < order.size(); ++i) p[order[i]] = 0;
  }
  for (double& x : p) x /= total;
  return p;
}

Index draw(const Tensor& logits, const SamplingOptions& options, RandomKey key, std::uint64_t i) {
  std::vector<double> p = sampling_probs(logits, options);
  // The first token at which the cumulative probability exceeds u; rounding may leave a u beyond
  // the last, which then is the one.
  double u = uniform_at(key, i), sum = 0;
  Index last = 0;
  for (std::size_t v = 0; v < p.size(); ++v) {
    if (p[v] == 0) continue;
    last = static_cast<Index>(v);
    sum += p[v];
    if (u < sum) break;
  }
  return last;
}

std::vector<Index> generate(StepDecoder& decoder, Index last, Index count,
                            const SamplingOptions& options, RandomKey key,
                            const std::function<bool(Index)>& take) {
  std::vector<Index> tokens;
  while (static_cast<Index>(tokens.size()) < count) {
    last = draw(select(decoder.step({last}), 0, 0), options, key, tokens.size());
    tokens.push_back(last);
    if (take && !take(last)) break;
  }
  return tokens;
}

}  // namespace glim
