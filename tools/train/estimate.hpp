// The memory that a run needs at least, from its options alone:
//
//   model   parameters · (weight + gradient + moments of the optimizer), of the layers' matrices
//   data    the examples that a built-in task generates
//
// A lower bound: vocabularies, biases and values saved for backward are not counted.
#pragma once

#include "tools/train/options.hpp"

namespace glim {

struct MemoryNeed {
  double model = 0, data = 0;  // bytes
};
MemoryNeed least_memory(const TrainOptions& options);

// ValueError naming the options and both sizes when the run needs more than `machine` bytes (0: unknown,
// nothing is refused).
void require_memory(const TrainOptions& options, double machine);

}  // namespace glim
