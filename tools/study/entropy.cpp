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

#include "autograd/observe/watch.hpp"
#include "autograd/op_form.hpp"
#include "nn/attention/self.hpp"
#include "optim/adam.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/study/measures.hpp"
#include "tools/study/statistics.hpp"

namespace glim::entropy {

double entropy_bound(Index keys, double sigma) {
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

namespace {

constexpr Index kKeys = 16, kWidth = 64;

// Logits of norm σ (starts, T) whose entropy gradient descent has made small.
Tensor least_entropy_logits(Index starts, double sigma, int steps) {
  Var u = Var::leaf(gaussian({starts, kKeys}, DType::Float64), "u");
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

}  // namespace

Measurement measure(std::uint64_t, bool small) {
  Measurement m;
  const auto gains = sizes<double>(small, {1, 4}, {0.5, 1, 2, 4, 8});
  const Index sentences = small ? 2 : 32;
  double off = 0, ratio = kInf, slack = kInf, above = 0, below = kInf;
  for (int i = 0; i < 15; ++i) {
    double sigma = 0.25 * std::exp2(i / 2.0), bound = entropy_bound(kKeys, sigma);
    Tensor logits = from_vector(extremal_logits(kKeys, sigma), {1, kKeys});
    off = std::max(off, std::abs(attention_entropies(logits)[0] - bound));
    m.curve("rows", "bound", sigma, bound, CurveStyle::Reference);
  }
  m.values["extremal"] = off;
  m.curves.push_back({{"found by descent", {}, {}, {}, {}, false}, "rows"});
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
      Tensor x = gaussian({kKeys, kWidth}, DType::Float64);
      UseForm use(OpForm::Explicit);
      Tape tape;
      Watch watch(tape, "*scores");
      AttentionResult a = attention(Var::leaf(x), AttentionMask{}, true);
      Tensor scores = watch.values().at(0).value;  // (T, T)
      std::vector<double> entropies = head_statistics(a.probs.value()).row_entropy;
      std::vector<double> sigmas = row_norms(sub(scores, mean(scores, {-1}, true)));
      double longest = std::sqrt(max(sum(mul(x, x), {-1})).item());
      double sigma = weight_norm * spectral_norm(x) * longest / std::sqrt(double{kWidth});
      for (std::size_t i = 0; i < entropies.size(); ++i) {
        double bound = entropy_bound(kKeys, sigmas[i]);
        if (bound > 1e-6) ratio = std::min(ratio, entropies[i] / bound);
        slack = std::min({slack, entropies[i] - bound, entropies[i] - entropy_bound(kKeys, sigma)});
        if (s < 4)
          m.curve("rows", "rows of attention", sigmas[i], entropies[i], CurveStyle::Points);
      }
    }
  }
  m.values["ratio"] = ratio;
  m.values["slack"] = slack;
  for (double sigma : sizes<double>(small, {2}, {1, 2, 4, 8})) {
    std::vector<double> entropies =
        attention_entropies(least_entropy_logits(16, sigma, small ? 200 : 1000));
    double least = *std::min_element(entropies.begin(), entropies.end());
    below = std::min(below, least - entropy_bound(kKeys, sigma));
    above = std::max(above, least - entropy_bound(kKeys, sigma));
    m.curve("rows", "found by descent", sigma, least);
  }
  m.values["search_above"] = above;
  m.values["search_below"] = below;
  return m;
}

}  // namespace glim::entropy
