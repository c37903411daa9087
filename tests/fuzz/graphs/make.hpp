// Draws a random graph. Shapes have rank 0 to 6 and extents 0 to 4; leaves are whole, transposed, every second row,
// expanded or overlapping.
#pragma once

#include <random>

#include "tests/fuzz/graphs/graph.hpp"

namespace glim::fuzz {

struct GraphSize {
  int steps = 12;           // at most
  Index elements = 400;     // of a value, at most
  bool every_kind = false;  // go through the catalogue in turn; otherwise at random
};

// One whose values are finite and below 100, in float64.
Graph random_graph(std::mt19937_64& random, const GraphSize& size);

}  // namespace glim::fuzz
