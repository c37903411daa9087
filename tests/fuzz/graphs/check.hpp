// The conditions on a graph's gradients:
//
//   kernel = rule = derivative of the explicit ops           to 1e-10 of the largest element
//   gradients = central differences, the gradient's, too     gradcheck; where a graph has no kink, to 1e-10
//   retained and nested tapes, hooks and watches, the graph as one checkpointed region, 1 = 3 threads
//                                                            bit for bit
//   each step as a checkpointed region                       to 1e-12: what is read twice adds up in another order
//   float32 = float64                                        to what a change of the last bit of the leaves makes
//
// The first two, where a graph has a kink and they differ: at a point nearby.
#pragma once

#include "tests/fuzz/graphs/graph.hpp"

namespace glim::fuzz {

struct Checks {
  bool bits = true;  // hooks, watches, regions, retained and nested tapes
  bool differences = true, second_order = false, precise = false, float32 = false, threads = false;
};

// The counts of all gradient checks since the program began.
struct Compared {
  Index derivatives = 0, low_precision = 0, undecidable = 0, precise_graphs = 0, undecided = 0,
        ties = 0;
};
const Compared& compared();

// Returns the fault in one line, or a gradient check's report; empty for a right graph.
std::string check(const Graph& graph, const Checks& checks);

// A smaller graph that is wrong in some way, too: what the fault does not need is gone.
Graph reduced(Graph graph, const Checks& checks);

}  // namespace glim::fuzz
