// What the tests of row kernels share: numbers in [-2, 2), and how near a kernel is to a plain loop.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tensor/random.hpp"

namespace glim::kernel_tests {

template <class T>
std::vector<T> random(std::size_t n, std::uint64_t stream) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(4 * uniform_at({2, stream}, i) - 2);
  return x;
}

template <class T>
bool close(T a, double b) {
  return std::abs(static_cast<double>(a) - b) <=
         (sizeof(T) == 4 ? 2e-6 : 1e-13) * std::max(1.0, std::abs(b));
}

}  // namespace glim::kernel_tests
