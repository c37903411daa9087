// Judges a student's Adam and warm-up (exercise 11) by values at several steps, and names a slip by trying it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace glim::course {

struct Found {
  std::string mistake;  // empty: all values are right
  std::string worst;    // "m[2] is 0.7, expected 0.2 (at step 3)"
};

// The student's functions, which take and return tensors in the order of tools/course/adam.py. Their exceptions pass
// through. A value of another shape is a mistake.
using Called = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

Found check_adam(const Called& adam_step, std::uint64_t seed);
Found check_warm_up(const Called& warm_up);

}  // namespace glim::course
