// Losses. Each is a loss per element (or per row), then a reduction:
//
//   cross_entropy   ℓ_n = -(1-ε) w[t_n] ln p[n, t_n] - ε/V Σ_v w[v] ln p[n, v]      p = softmax(logits)
//                   ℓ_n = -Σ_v w[v] ((1-ε) q[n, v] + ε/V) ln p[n, v]
//   mse_loss        ℓ_i = (x_i - y_i)²
//
// cross_entropy smooths as torch does: every class gets ε/V. label_smoothing_loss (autograd/ops.hpp) is the
// Transformer's.
// The weights w are 1 unless given. The mean of the first form divides by Σ w[t_n]. In the second the
// target is a distribution q over the classes, and the mean divides by the number of rows. 0 ln 0 is 0.
// It has gradients for logits, q and w.
//
// Shapes: x, logits (..., V) with int64 target (...) or q (..., V); w (V,); mse_loss two of one shape.
// Rows whose target is ignore_index count neither in sums nor in means and receive zero gradient;
// a mean over nothing, or of weights that add up to 0, is 0, with zero gradient.
//
// Errors: ShapeError, DTypeError; IndexError for a target outside [0, V) that is not ignored;
// ValueError for label_smoothing outside [0, 1], and for an ignore_index where no row has a class.
#pragma once

#include "nn/module.hpp"

namespace glim {

// Mean divides by the number of counted elements.
enum class Reduction { None, Mean, Sum };

inline constexpr Index kIgnoreNothing = -100;  // torch's default: no class has this number

struct CrossEntropyOptions {
  Index ignore_index = kIgnoreNothing;
  double label_smoothing = 0;
  Reduction reduction = Reduction::Mean;
  Var weight = {};  // each class's
};

Var cross_entropy(const Var& logits, const Var& target, const CrossEntropyOptions& options = {});
Var mse_loss(const Var& x, const Var& y, Reduction reduction = Reduction::Mean);

}  // namespace glim
