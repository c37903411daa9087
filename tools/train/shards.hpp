// The shards of a batch, and the processes that have equal numbers of neighbouring shards: asked for the gradient of the
// batch, they are one, and their number does not change a bit of it (processes.md). It is added up in one tree:
//
//   ((g_0 + g_1) + (g_2 + g_3)) + …         g_i of the shard in slot i of the batch; their number is a power of two
//
// The levels above those of a process are Processes::sum. Of several shards, one that leaves a trained parameter
// without a gradient has zeros there.
#pragma once

#include "autograd/measures.hpp"
#include "autograd/var.hpp"
#include "tensor/function_ref.hpp"
#include "tools/common/processes.hpp"

namespace glim {

class Shards {
 public:
  // `count` slots, a multiple of the processes.
  Shards(NamedParameters parameters, Index count, const Processes& world = {})
      : processes(world), count_(count), parameters_(std::move(parameters)) {}

  // Calls `forward_and_backward` for each slot of this process: it leaves the shard's gradient in the parameters and returns
  // what it measured. Afterwards they have the sum over all slots of all processes, and generator() goes on after the
  // shard that drew most. Returns the sum of all measures.
  Measures sum(FunctionRef<Measures(Index slot)> forward_and_backward) const;

  const Processes processes;

 private:
  Index count_;
  NamedParameters parameters_;
};

}  // namespace glim
