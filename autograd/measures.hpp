// The numbers of a loss, on their way from the op that computes it to the log of a run.
#pragma once

#include <algorithm>
#include <cmath>

#include "tensor/shape.hpp"

namespace glim {

// Sums over targets (tokens, labels), or their means: what per_target() gives.
struct Measures {
  double kl = 0;           // Σ KL(q ‖ p)
  double smoothed_ce = 0;  // -Σ q ln p
  double nll = 0;          // -Σ ln p(target)
  Index tokens = 0;        // targets that count: other than padding
  Index correct = 0;       // targets whose likeliest prediction is right, where a model counts them
  double auxiliary = 0;    // Σ of further losses, added to the one that is trained

  Measures& operator+=(const Measures& more) {
    kl += more.kl;
    smoothed_ce += more.smoothed_ce;
    nll += more.nll;
    tokens += more.tokens;
    correct += more.correct;
    auxiliary += more.auxiliary;
    return *this;
  }
  Measures per_target() const {
    const auto n = static_cast<double>(std::max<Index>(tokens, 1));
    return {kl / n, smoothed_ce / n, nll / n, tokens, correct, auxiliary / n};
  }
  bool finite() const { return std::isfinite(kl + auxiliary); }
  double perplexity() const { return std::exp(nll); }  // of means
  double accuracy() const {                            // of sums or means
    return static_cast<double>(correct) / static_cast<double>(std::max<Index>(tokens, 1));
  }
};

}  // namespace glim
