// The equations of every op, as they stand above its struct in autograd/ops, for whoever shows a
// tape to a reader.
//
//   formula("matmul")->forward     "y = a b"
//                    ->gradients   "da = dy bᵀ", "db = aᵀ dy"      by input
//                    ->reads       "a, b"                           in backward; "" for nothing
//
// d stands for ∂L/∂. One gradient for each input that can have one, in the op's order; an op of any
// number of inputs (concatenate, checkpoint) states the gradient of one of them.
#pragma once

#include <string_view>
#include <vector>

namespace glim {

struct Formula {
  std::string_view forward;
  std::vector<std::string_view> gradients;
  std::string_view reads;
};

// By the op's name on the tape; null for a name that is no op's.
const Formula* formula(std::string_view op);

}  // namespace glim
