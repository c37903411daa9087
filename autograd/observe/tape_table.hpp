// A tape as a table, one line a node, and as a graph in Graphviz's language; before backward or after it.
//
//   std::cout << to_table(tape);                 to_table(tape, &times, &watch): their columns too
//   std::ofstream("t.dot") << to_dot(tape);      dot -Tsvg t.dot > t.svg
//
// After backward they mark what an op had saved as freed (unless retained).
#pragma once

#include <string>

#include "autograd/observe/op_times.hpp"
#include "autograd/observe/watch.hpp"

namespace glim {

// Columns: number, path, op, numbers of the inputs (- for a constant), shape, dtype, bytes of the value, what backward
// will read (a, b, ... the inputs, y the output; "freed" when it was read), line of the call; the times of forward
// and backward, and the norm of the gradient where one was watched. A line below sums up.
std::string to_table(const Tape& tape, const OpTimes* times = nullptr,
                     const Watch* watch = nullptr);

// Leaves are ellipses, ops boxes (dashed when used up by backward), scopes clusters within each other. A leaf
// is in the scope that its name starts with.
std::string to_dot(const Tape& tape);

// Bytes kept for backward. A tensor saved by two ops counts for both.
Index saved_bytes(const Node& node);

}  // namespace glim
