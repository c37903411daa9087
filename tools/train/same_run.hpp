// Whether several processes do the same run: each hashes what its numbers depend on, before the first step.
#pragma once

#include "tools/train/learner.hpp"
#include "tools/train/trainer.hpp"

namespace glim {

// ValueError where their number does not divide the shards.
void require_shares(const Processes& processes, const TrainOptions& options);
// ValueError, in one of them, where one has another program, other options, other input files, or other training
// data and weights than the first.
void require_same_run(const Processes& processes, const TrainOptions& options, Learner& learner,
                      const TrainState& state);

}  // namespace glim
