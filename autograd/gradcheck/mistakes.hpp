// The name of the mistake that a wrong Jacobian shows.
//
// A is the Jacobian that backward gives, N the numeric one, both of one input; row i is an element of the
// outputs, column j one of the input. Mistakes leave marks: A = -N is a sign, A = Nᵀ a missing transpose, a
// diagonal A where N has none the sum over the others that a softmax or a norm needs. A name is given only when
// it explains every derivative; without one nothing is said. How sure it is shows in how many wrong derivatives
// it explains beyond the constants that were fitted: a factor "fits" any single one.
#pragma once

#include "autograd/gradcheck/check.hpp"

namespace glim::detail {

struct JacobianPair {
  std::string name;
  Shape shape;
  std::vector<double> x;                  // the input's elements
  std::vector<double> analytic, numeric;  // row-major
  bool linear = true;                     // in dy: is backward's Jᵀu that of `analytic`?
};

struct JacobianPairs {
  std::vector<JacobianPair> inputs;
  Shape output;           // (rows) when there are several outputs
  std::vector<double> y;  // the outputs' elements
};

// The mistake in input k. `relative`: differences of this share of the largest derivative are none.
Mistake likely_mistake(const JacobianPairs& all, std::size_t k, double relative);

// Finds the ops at fault for a report that has wrong derivatives, and names mistakes (explain.cpp). `checked` is the
// subject of the report: `f`, or its gradient.
void explain(const Subject& f, const Subject& checked, Checked& found);

}  // namespace glim::detail
