// A tensor in a few numbers.
#pragma once

#include "tensor/tensor.hpp"

namespace glim {

// In float64. Elements that are not finite are counted and left out of the other numbers, which are 0 if
// no element is finite.
struct Statistics {
  Index count = 0, not_finite = 0;
  double norm = 0;  // √Σ x²
  double low = 0, high = 0, mean = 0;
  double zeros = 0;  // share that is exactly 0
};
Statistics statistics(const Tensor& x);

}  // namespace glim
