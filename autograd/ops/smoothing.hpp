// The smoothed target of a row of V classes (Szegedy et al. 2016, section 7):
//
//   q = 1-ε for the target, 0 for pad, ε/(V-2) elsewhere (ε/(V-1) where pad is no class)
#pragma once

#include <string>

#include "autograd/kernels/simd/op_kernels.hpp"
#include "tensor/error.hpp"
#include "tensor/portable.hpp"
#include "tensor/print.hpp"
#include "tensor/tensor.hpp"

namespace glim {

inline double x_log_x(double v) { return v > 0 ? v * portable::log(v) : 0.0; }

struct Smoothing {
  double epsilon = 0;
  Index pad = 0;
  // Classes that share ε: all but the target and, where it is one of them, padding.
  double others(Index classes) const {
    return static_cast<double>(classes - (pad >= 0 && pad < classes ? 2 : 1));
  }
  double rest(Index classes) const { return epsilon > 0 ? epsilon / others(classes) : 0; }
  // -Σ q ln q of all rows.
  double entropy(Index tokens, Index classes) const {
    return -static_cast<double>(tokens) *
           (x_log_x(1 - epsilon) + (epsilon > 0 ? others(classes) * x_log_x(rest(classes)) : 0));
  }
  SmoothedTarget distribution(Index classes) const {
    double r = rest(classes), hit = 1 - epsilon;
    return {hit, r, hit + r * others(classes), pad};
  }
};

// ε needs a class beside the target's, and beside pad's where that is one.
inline void require_smoothing(std::string_view op, double epsilon, Index classes, Index pad) {
  Index least = pad >= 0 && pad < classes ? 3 : 2;
  if (!(epsilon >= 0 && epsilon < 1) || (epsilon > 0 && classes < least))
    throw ValueError(op, "smoothing must lie in [0, 1), and V be at least " +
                             std::to_string(least) + ", got " + number_text(epsilon) + " and " +
                             std::to_string(classes));
}

// IndexError naming the row of a target outside [0, classes).
inline void require_classes(std::string_view op, const Tensor& target, Index classes) {
  const Index* t = target.data<Index>();
  for (Index r = 0; r < target.numel(); ++r)
    if (t[r] < 0 || t[r] >= classes)
      throw IndexError(std::string(op),
                       "target " + std::to_string(t[r]) + " at row " + std::to_string(r) +
                           " is outside [0, " + std::to_string(classes) + ")",
                       {{"target", target}});
}

}  // namespace glim
