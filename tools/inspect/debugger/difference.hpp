// Gradients against difference quotients, in float64, up to `most` elements of each tensor, evenly
// spaced:
//
//   the gradient that a value x got      (L(x + h e) - L(x - h e)) / 2h        against ∂L/∂x_e
//   what its op sends to input x         Σ dy (op(x + h e) - op(x - h e)) / 2h
//
// For L every node that depends on x is run again. The second check takes dy as it is: so the op at fault is
// the one whose own output disagrees, not one that received a wrong gradient. dy is the gradient that the
// node got. If that is incomplete or zero, dy is random and the first check is left out.
//
// The gradient checker compares (autograd/gradcheck/check.hpp): each check is that of an op whose forward is the number
// and whose rule sends what the pass sent. Tolerances are gradcheck's, in units of the tensor's largest element (float32:
// 1e-5 + 1e-3 |quotient|; float64: 1e-7 + 1e-5 |quotient|). A gradient that came from the loss gets another
// 1e-6 max(1, |L|) (float64: 1e-8) for the rounding of sums that cancel. An op with float32 constants of its own is run
// in float32, with wider tolerances (2e-3 and 1e-2), and L is then not run again through it.
//
// Errors: StateError for a leaf whose gradient is not complete: there is nothing to compare. StateError for an op that
// gives other values when it runs again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autograd/gradcheck/gradcheck.hpp"
#include "tools/pass/pass.hpp"

namespace glim::step {

struct Difference {
  std::optional<GradcheckEntry> gradient;  // of the value, against L
  std::string gradient_note;               // why not
  bool own_gradient = true;                // else random
  bool in_float64 = true;
  std::vector<GradcheckEntry> inputs;  // what the op sends; none for a leaf
};

// `stop` is asked between elements; true ends the comparison by a StateError.
Difference difference(Pass& pass, int node, Index most = 64,
                      const std::function<bool()>& stop = {});
std::string to_text(const Pass& pass, int node, const Difference& difference);

}  // namespace glim::step
