// Checks that processes share a run: each hashes all its numbers depend on, before the first step.
#pragma once

#include "tools/kinds/learner.hpp"
#include "tools/train/trainer.hpp"

namespace glim {

// ValueError where their number does not divide the shards.
void require_shares(const Processes& processes, const TrainOptions& options);
// ValueError, in one of them, where one has another program, other options or other input files than the first. A
// teacher is one of the files if it is going to translate.
void require_same_options(const Processes& processes, const TrainOptions& options, bool distils);
// ValueError, in one of them, where one has other training data or weights than the first.
void require_same_weights(const Processes& processes, Learner& learner, const TrainState& state);

}  // namespace glim
