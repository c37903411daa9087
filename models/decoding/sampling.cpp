#include "models/decoding/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "tensor/error.hpp"
#include "tensor/portable.hpp"
#include "tensor/print.hpp"

namespace glim {

void check(const SamplingOptions& o, Index classes) {
  if (o.greedy) return;
  if (!(o.temperature >= 0 && std::isfinite(o.temperature)))
    throw ValueError("temperature",
                     number_text(o.temperature) + " is not a finite number from 0 on");
  if (o.top_k < 0 || o.top_k > classes)
    throw ValueError("top-k", std::to_string(o.top_k) + " is outside 0 (all) to " +
                                  std::to_string(classes) + ", the size of the vocabulary");
  if (!(o.top_p > 0 && o.top_p <= 1))
    throw ValueError("top-p", number_text(o.top_p) + " is outside (0, 1]");
}

std::vector<double> sampling_probs(const Tensor& logits, const SamplingOptions& o) {
  check(o, logits.numel());
  if (logits.rank() != 1) throw ShapeError("sampling", "logits must be (V,)", {{"logits", logits}});
  std::vector<double> p = logits.to(DType::Float64).to_vector<double>();
  for (Index v : o.never)
    if (v >= 0 && v < logits.numel()) p[v] = kNever;
  if (std::ranges::any_of(p, [](double logit) { return std::isnan(logit); }))
    throw NonFiniteError("sampling", "a logit is not a number");
  const auto best = std::max_element(p.begin(), p.end());
  if (best == p.end() || !std::isfinite(*best))
    throw NonFiniteError("sampling", "no token has a finite logit");
  if (o.greedy || o.temperature == 0) {
    std::vector<double> one(p.size());
    one[best - p.begin()] = 1;
    return one;
  }
  double total = 0;
  const double top = *best;
  for (double& x : p) {  // a logit, then its probability
    x = x > kNever ? portable::exp((x - top) / o.temperature) : 0;
    total += x;
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
  if (count < 0)
    throw ValueError("generate", std::to_string(count) + " tokens; the number is 0 at least");
  std::vector<Index> tokens;
  while (static_cast<Index>(tokens.size()) < count) {
    last = draw(select(decoder.step({last}), 0, 0), options, key, tokens.size());
    tokens.push_back(last);
    if (take && !take(last)) break;
  }
  return tokens;
}

}  // namespace glim
