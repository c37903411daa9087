// The second order of a loss: its derivative along a direction, whose gradient is the Hessian times that direction.
//
//   dL = Σ_k ∂L/∂x_k ⊙ v_k            of every leaf x_k: the JVP of the loss
//   ∂dL/∂x_j = Σ_k ∂²L/∂x_j∂x_k v_k   the Hessian-vector product
//   ∂dL/∂(dy) = the change of y along v, for any value y, dy = ∂L/∂y: the JVP of y
//
// So whatever writes out a loss and its gradient writes out the second order, if dL takes the loss's place: the first
// backward is then a part of the forward pass.
#pragma once

#include "tools/derive/trace.hpp"

namespace glim::derive {

// dL of a loss on the current tape, N(0, 1) directions that are constants "v.NAME". Gradients of values with names of
// their own, as "scores", are named "dscores".
Var along_directions(const Var& loss, ConstantNames& names);
// dL of L = Σ y ⊙ dy along directions vs of leaves xs. If dy is a leaf, the gradient of dL with regard to it is the change
// of y along vs.
Var along_directions(const Var& y, const Var& dy, const std::vector<Var>& xs,
                     const std::vector<Var>& vs);

}  // namespace glim::derive
