// Shared by the tests of row kernels: numbers in [-2, 2), how near a kernel is to a plain loop, and that it
// gives the same bits with every instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tensor/random.hpp"
#include "tensor/simd/isa.hpp"
#include "tensor/simd/kernels.hpp"
#include "tests/catch.hpp"

namespace glim::kernel_tests {

// The rows of tensor/simd/element_functions.hpp.
struct FunctionRow {
  const char* name;
  ElementFunction f;
  bool slope_reads_y;
};
#define GLIM_ROW(name, value, read, ...) {#name, ElementFunction::name, #read[0] == 'y'},
inline const FunctionRow kFunctionRows[] = {GLIM_ELEMENT_FUNCTIONS(GLIM_ROW)};
#undef GLIM_ROW

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

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// run(isa) returns what a kernel wrote.
template <class F>
void check_same_bits(const char* kernel, Index n, const F& run) {
  auto first = run(Isa::Baseline);
  for (Isa isa : supported_isas()) {
    INFO(kernel << " of " << n << " with " << name_of(isa));
    CHECK(same_bits(run(isa), first));
  }
}

}  // namespace glim::kernel_tests
