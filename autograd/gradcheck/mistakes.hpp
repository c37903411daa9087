// What a wrong Jacobian looks like.
//
// A is the Jacobian that backward gives, N the numeric one, both of one input; row i is an element of the
// outputs, column j one of the input. Mistakes leave marks: A = -N is a sign, A = Nᵀ a missing transpose, a
// diagonal A where N has none the sum over the others that a softmax or a norm needs. A name is given only when
// it explains every derivative; without one nothing is said.
#pragma once

#include <string>
#include <vector>

#include "tensor/shape.hpp"

namespace glim::detail {

struct JacobianPair {
  Shape input;
  std::vector<double> analytic, numeric;  // row-major
  bool right_along_u = true;              // is Jᵀu right too?
};

// The name of the mistake in jacobians[k], an empty text when none fits. `relative`: differences of this share
// of the largest derivative are none.
std::string likely_mistake(const std::vector<JacobianPair>& jacobians, std::size_t k,
                           double relative);

}  // namespace glim::detail
