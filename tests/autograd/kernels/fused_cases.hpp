// The cases on which fused.cpp compares fused ops with their compositions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/ops.hpp"

namespace glim::fused_tests {

struct Case {
  std::string name;
  std::vector<Tensor> inputs;  // float64; undefined ones are passed on
  std::function<Var(const std::vector<Var>&)> call;
};
// Sizes that take several vectors, tiles, chunks or threads, and masks that broadcast. tools/gradient_cases has small ones.
std::vector<Case> cases();

// float64, other numbers at every call.
Tensor random(const Shape& shape);
// The values of x with the first two axes swapped in memory.
Tensor swapped(const Tensor& x);

}  // namespace glim::fused_tests
