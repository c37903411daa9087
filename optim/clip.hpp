// Clipping by the norm of all gradients together (Pascanu et al. 2013, algorithm 1):
//
//   ‖g‖ = √(Σ over parameters and elements of g²)      g ← g · min(1, max_norm/(‖g‖ + 1e-6))
//
// Its transpose, from ∂q/∂ of the scaled gradients to that of the gradients as they were, where s < 1:
//
//   s = max_norm/(‖g‖ + 1e-6)      dg ← s (dg - (g·dg)/((‖g‖ + 1e-6) ‖g‖) g)
//
// The sums run in float64, in an order that depends on the sizes alone. Parameters without a
// gradient count 0. NonFiniteError names the first parameter whose gradient is not finite,
// and the gradients stay as they are; ValueError unless max_norm is positive, in each dtype too, and
// for a parameter that is listed twice.
#pragma once

#include "optim/optimizer.hpp"

namespace glim {

// Σ x², of float32 or float64.
double sum_of_squares(const Tensor& x);
double gradient_norm(const NamedParameters& parameters);
// Scales the gradients in place; returns the norm they had.
double clip_gradient_norm(const NamedParameters& parameters, double max_norm);
// The transpose. `gradients` are those before the scaling, dgs are of the scaled ones. Both have one tensor a parameter,
// which is undefined where the parameter has no gradient.
std::vector<Tensor> clip_adjoint(const std::vector<Tensor>& gradients, double max_norm,
                                 const std::vector<Tensor>& dgs);

}  // namespace glim
