// entropy: how peaked attention can be, by the spread of its logits.
//
// Zhai et al. 2023 (arXiv 2303.06296), theorem 3.1: a row of T logits of norm σ at most has an
// entropy of at least H_min(σ) (measures.hpp), about σ e^-σ T for large σ: the entropy can collapse
// exponentially as the spectral norm of the query-key weights grows. The softmax does not see the
// mean of a row, so σ is taken as the norm without it, which makes the bound tightest. By weights:
//
//   ‖row i‖ = ‖X W_Kᵀ W_Q x_i‖/√d_k ≤ ‖X‖₂ ‖W_Kᵀ W_Q‖₂ max‖x_i‖/√d_k
//
// Three tests: rows of real attention are above the bound; the extremal logits are on it; a search
// by gradient descent over all logits of a norm comes down to it and no lower.
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/magnification.hpp"
#include "nn/attention/self.hpp"
#include "optim/adam.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/study/all_studies.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim {

double entropy_bound(Index keys, double sigma) {
  if (keys < 2) throw ValueError("entropy_bound", "fewer than two keys");
  if (!(sigma >= 0)) throw ValueError("entropy_bound", "the spread is negative");
  auto t = static_cast<double>(keys);
  double beta = std::exp(-sigma * std::sqrt(t / (t - 1))), sum = 1 + (t - 1) * beta;
  return std::log1p((t - 1) * beta) + sigma * std::sqrt(t * (t - 1)) * beta / sum;
}

std::vector<double> extremal_logits(Index keys, double sigma) {
  auto t = static_cast<double>(keys);
  std::vector<double> logits(static_cast<std::size_t>(keys), -sigma / std::sqrt(t * (t - 1)));
  logits[0] = sigma * std::sqrt((t - 1) / t);
  return logits;
}

std::vector<double> attention_entropies(const Tensor& logits) {
  Index keys = logits.size(1);
  Tensor identity = eye(keys, logits.dtype());
  Tensor query = mul(logits, std::sqrt(static_cast<double>(keys)));
  AttentionResult a =
      scaled_dot_product_attention(Var(query), Var(identity), Var(identity), {}, 0, {}, true);
  return head_statistics(a.probs.value()).row_entropy;
}

namespace entropy {

constexpr Index kKeys = 16, kWidth = 64;

// Logits of norm σ (starts, T) whose entropy gradient descent has made small.
Tensor least_entropy_logits(Index starts, double sigma, int steps) {
  Var u = Var::leaf(normal({starts, kKeys}, 0, 1, generator().next(), DType::Float64), "u");
  Adam adam({{"u", u}}, {.rate = 0.05});
  auto on_sphere = [&] {
    Var centred = sub(u, mean(u, {-1}, true));
    return mul(div(centred, sqrt(sum(mul(centred, centred), {-1}, true))), sigma);
  };
  for (int i = 0; i < steps; ++i) {
    Tape tape;
    Var log_probs = log_softmax(on_sphere());
    tape.backward(neg(sum(mul(exp(log_probs), log_probs))));
    adam.step();
    adam.zero_grad();
  }
  return on_sphere().value();
}

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const std::vector<double> gains =
      small ? std::vector<double>{1, 4} : std::vector<double>{0.5, 1, 2, 4, 8};
  const Index sentences = small ? 2 : 32;
  double ratio = std::numeric_limits<double>::infinity(), slack = ratio;
  Curve rows{"rows", "rows of attention", {}, {}, CurveStyle::Points};
  for (double gain : gains) {
    SelfAttention attention(kWidth, kWidth, kWidth, 0, false);
    attention.to(DType::Float64);
    for (Linear* l : {&attention.query, &attention.key})
      l->weight.value().copy_(normal({kWidth, kWidth}, 0, gain / std::sqrt(double{kWidth}),
                                     generator().next(), DType::Float64));
    Tensor product =
        matmul(transpose(attention.key.weight.value()), attention.query.weight.value());
    double weight_norm = spectral_norm(product);
    for (Index s = 0; s < sentences; ++s) {
      Tensor x = normal({kKeys, kWidth}, 0, 1, generator().next(), DType::Float64);
      Magnify magnify(Magnification::Explicit);
      Tape tape;
      tape.watch("*scores");
      AttentionResult a = attention(Var::leaf(x), AttentionMask{}, true);
      Tensor scores = tape.watched().at(0).value;  // (T, T)
      std::vector<double> entropies = head_statistics(a.probs.value()).row_entropy;
      Tensor centred = sub(scores, mean(scores, {-1}, true));
      std::vector<double> sigmas = sqrt(sum(mul(centred, centred), {-1})).to_vector<double>();
      double longest = std::sqrt(max(sum(mul(x, x), {-1})).item());
      double sigma = weight_norm * spectral_norm(x) * longest / std::sqrt(double{kWidth});
      for (std::size_t i = 0; i < entropies.size(); ++i) {
        double bound = entropy_bound(kKeys, sigmas[i]);
        if (bound > 1e-6) ratio = std::min(ratio, entropies[i] / bound);
        slack = std::min({slack, entropies[i] - bound, entropies[i] - entropy_bound(kKeys, sigma)});
        if (s >= 4) continue;
        rows.x.push_back(sigmas[i]);
        rows.y.push_back(entropies[i]);
      }
    }
  }
  m.values["ratio"] = ratio;
  m.values["slack"] = slack;

  double off = 0, above = 0, below = std::numeric_limits<double>::infinity();
  Curve bound{"rows", "bound", {}, {}, CurveStyle::Reference},
      found{"rows", "found by descent", {}, {}, CurveStyle::Points};
  for (int i = 0; i < 15; ++i) {
    double sigma = 0.25 * std::exp2(i / 2.0);
    Tensor logits = from_vector(extremal_logits(kKeys, sigma), {1, kKeys});
    off = std::max(off, std::abs(attention_entropies(logits)[0] - entropy_bound(kKeys, sigma)));
    bound.x.push_back(sigma);
    bound.y.push_back(entropy_bound(kKeys, sigma));
  }
  m.values["extremal"] = off;
  for (double sigma : small ? std::vector<double>{2} : std::vector<double>{1, 2, 4, 8}) {
    std::vector<double> entropies =
        attention_entropies(least_entropy_logits(16, sigma, small ? 200 : 1000));
    double least = *std::min_element(entropies.begin(), entropies.end());
    below = std::min(below, least - entropy_bound(kKeys, sigma));
    above = std::max(above, least - entropy_bound(kKeys, sigma));
    found.x.push_back(sigma);
    found.y.push_back(least);
  }
  m.values["search_above"] = above;
  m.values["search_below"] = below;
  m.curves = {bound, found, rows};
  return m;
}

}  // namespace entropy

Study entropy_study() {
  const char* rounding = "a lower bound; -1e-9 allows for rounding in float64.";
  return {
      "entropy",
      "The lower bound on attention entropy by the spread of the logits holds and is reached.",
      "Zhai et al. 2023, arXiv 2303.06296, theorem 3.1",
      "16 keys, float64; self-attention of d 64, query and key weights N(0, g²/64) for g 0.5, 1, "
      "2, 4, 8, each with 32 sentences; extremal logits for 15 spreads from 0.25 to 32; descent "
      "from 16 random starts, 1,000 steps of Adam, for spreads 1, 2, 4, 8",
      "16 keys, d 64, g 1 and 4 with 2 sentences; descent of 200 steps for spread 2",
      {
          {"ratio", "rows of attention: least entropy/bound(spread of the row), bound > 1e-6", 1,
           kInf, "a lower bound; rounding is far below what random rows leave."},
          {"slack", "least of entropy - bound, also by the norms of weights and tokens", -1e-9,
           kInf, rounding},
          {"extremal", "extremal logits: largest |entropy - bound|", 0, 1e-9,
           "they are where the bound is reached; what is left is rounding."},
          {"search_above", "found by descent: largest of least entropy - bound", -kInf, 1e-3,
           "a minimum that descent can find is at the bound; 0.001 nats allow for an early end of "
           "the steps."},
          {"search_below", "found by descent: least of the same", -1e-9, kInf,
           "nothing that a search finds is below."},
      },
      {{"rows", "Entropy of attention over 16 keys", "spread σ of the logits", "entropy (nats)",
        true, false, true}},
      entropy::measure};
}

}  // namespace glim
