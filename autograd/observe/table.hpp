// A tape as a table, and its sums by op; before backward or after it.
//
//   std::cout << to_table(tape);       one line a node
//   std::cout << to_string(summarize(tape));
//
// After backward the table marks what an op had saved as freed (unless retained), and shows the times of
// backward and the norms of watched gradients.
#pragma once

#include <string>
#include <vector>

#include "autograd/tape.hpp"

namespace glim {

struct TableOptions {
  std::size_t rows = 0;  // at most, from both ends; 0: all
};
// Columns: number, path, op, numbers of the inputs (- for a constant), shape, dtype, bytes of the
// value, what backward will read (a, b, ... the inputs, y the output; (a) when its op will compute it
// again; "freed" when it was read), line of the call; with TapeOptions::profile the times of forward
// and backward, and the norm of the gradient where one was watched. A line below sums up.
std::string to_table(const Tape& tape, const TableOptions& options = {});

struct OpSummary {
  std::string op;  // "leaf" for leaves
  Index count = 0;
  Index bytes = 0;        // of the values
  Index saved_bytes = 0;  // held for backward; a tensor saved by two ops counts for both
  double forward_seconds = 0, backward_seconds = 0;
};
// By op: those that took longest first, then those with the most bytes.
std::vector<OpSummary> summarize(const Tape& tape);
std::string to_string(const std::vector<OpSummary>& summary);

}  // namespace glim
