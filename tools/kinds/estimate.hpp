// The memory that a run needs at least, from its options alone:
//
//   model   parameters · (weight + gradient + moments of the optimizer), of the layers' matrices
//   data    the examples that a built-in task generates
//
// A lower bound: vocabularies, biases and values saved for backward are not counted.
#pragma once

#include "tools/kinds/kind.hpp"
#include "tools/kinds/options.hpp"

namespace glim {

struct MemoryNeed {
  double model = 0, data = 0;  // bytes
};
MemoryNeed least_memory(const TrainOptions& options);

// ValueError naming the options and both sizes when the run needs more than `machine` bytes (0: unknown,
// nothing is refused).
void require_memory(const TrainOptions& options, double machine);

// For kinds. The decoder layers that the options say, or as many as layers.
double least_decoders(const TrainOptions& options);
// Encoder layers of attention and feed-forward, and decoder layers, which have two attentions.
Least least_of_layers(const TrainOptions& options, double decoders, double positions);
// With the table of so many positions.
Least with_positions(const TrainOptions& options, Least least, double positions);

}  // namespace glim
