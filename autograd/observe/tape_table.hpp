// A tape as a table, one line a node; before backward or after it.
//
//   std::cout << to_table(tape);
//
// After backward the table marks what an op had saved as freed (unless retained), and shows the times of
// backward and the norms of watched gradients.
#pragma once

#include <string>

#include "autograd/tape.hpp"

namespace glim {

// Columns: number, path, op, numbers of the inputs (- for a constant), shape, dtype, bytes of the
// value, what backward will read (a, b, ... the inputs, y the output; "freed" when it was read), line of
// the call; with TapeOptions::profile the times of forward
// and backward, and the norm of the gradient where one was watched. A line below sums up.
std::string to_table(const Tape& tape);

// Bytes kept for backward. A tensor saved by two ops counts for both.
Index saved_bytes(const Node& node);

}  // namespace glim
