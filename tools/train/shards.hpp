// The gradients of the parts of a batch, added up in one tree for any number of processes:
//
//   ((g_0 + g_1) + (g_2 + g_3)) + …         of a power of two of parts
//
// Processes have equal numbers of neighbouring parts; the levels above theirs are Processes::sum. A trained
// parameter that a part leaves without a gradient has zeros there.
#pragma once

#include <vector>

#include "autograd/var.hpp"
#include "tools/common/processes.hpp"

namespace glim {

class ShardGradients {
 public:
  explicit ShardGradients(NamedParameters parameters) : parameters_(std::move(parameters)) {}
  // Takes the gradient of the next part out of the parameters.
  void take();
  // Replaces each by its sum over all processes.
  void give(const Processes& processes);

 private:
  NamedParameters parameters_;
  Index taken_ = 0;
  // Sums of 2^k parts that wait for the next 2^k, one for each digit 1 of `taken_` in binary.
  std::vector<std::vector<Tensor>> waiting_;
};

}  // namespace glim
