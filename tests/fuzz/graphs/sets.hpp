// Graph number i of a seed, and the same graphs by every instruction set. The set is chosen when a program starts
// (tensor/simd/isa.hpp), so that each has a process of its own, which prints what it found.
#pragma once

#include <cstdint>

#include "tests/fuzz/graphs/check.hpp"
#include "tests/fuzz/graphs/make.hpp"

namespace glim::fuzz {

struct Asked {
  std::uint64_t graphs = 1000, from = 0, seed = 1, steps = 12;
};

struct Drawn {
  Graph graph;
  Checks checks;
};
Drawn draw(const Asked& asked, std::uint64_t i);

// A line for each graph: of its value and each gradient a hash of the bits, the sum against random numbers, and the
// largest element.
int print_values(const Asked& asked);

// Starts `program` with --values for each set, and compares: to 1e-10 of the largest element.
int compare_sets(const Asked& asked, const char* program);

}  // namespace glim::fuzz
