// Products with the Jacobian and with the Hessian of what a tape has recorded, and gradients of each example.
//
//   jvp    Σ_k (∂y/∂x_k) v_k             of each y        (Pearlmutter 1994; Townsend 2017)
//   hvp    Σ_k (∂²L/∂x ∂x_k) v_k         of each x
//   each   ∂ℓ_i/∂x                       of each element i of the losses
//
// The tape has (∂y/∂x)ᵀ u alone. This is linear in u, so that its own transpose is (∂y/∂x) v: a second backward pass,
// whatever u is. The Hessian is symmetric, and one more backward pass over ∂L/∂x gives its product. Both record a backward
// pass on the tape.
//
// Shapes: v_k of x_k. With create_graph the results are differentiable. Errors: as Tape::grad; ShapeError for v.
#pragma once

#include <functional>

#include "autograd/tape.hpp"

namespace glim {

std::vector<Var> jvp(Tape& tape, const std::vector<Var>& ys, const std::vector<Var>& xs,
                     const std::vector<Var>& vs, bool create_graph = false);
// ShapeError unless the loss has one element.
std::vector<Var> hvp(Tape& tape, const Var& loss, const std::vector<Var>& xs,
                     const std::vector<Var>& vs, bool create_graph = false);
// Calls f(i, gradients) with the gradients of element i of the losses, one backward pass each. They are gone after the
// call, so that the memory is that of one example.
void each_gradient(Tape& tape, const Var& losses, const std::vector<Var>& xs,
                   const std::function<void(Index, const std::vector<Var>&)>& f);

}  // namespace glim
