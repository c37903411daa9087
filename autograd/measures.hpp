// The numbers of a loss, on their way from the op that computes it to the log of a run.
#pragma once

#include <algorithm>
#include <cmath>

#include "tensor/portable.hpp"
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

  Measures& operator+=(const Measures& other) {
    kl += other.kl;
    smoothed_ce += other.smoothed_ce;
    nll += other.nll;
    tokens += other.tokens;
    correct += other.correct;
    auxiliary += other.auxiliary;
    return *this;
  }
  Measures per_target() const {
    const auto n = static_cast<double>(std::max<Index>(tokens, 1));
    return {kl / n, smoothed_ce / n, nll / n, tokens, correct, auxiliary / n};
  }
  bool finite() const { return std::isfinite(kl + auxiliary); }
  double perplexity() const { return portable::exp(nll); }  // needs means
  double accuracy() const {                                 // from sums or means
    return static_cast<double>(correct) / static_cast<double>(std::max<Index>(tokens, 1));
  }
};

}  // namespace glim
