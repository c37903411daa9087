// The verdict at a run's end: whether it has taught its model anything.
#pragma once

#include <string>

#include "tools/kinds/learner.hpp"
#include "tools/kinds/options.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {

// One line that says that the learner's model has not learned, and what to change; empty if it has.
//
//   loss           on the training data is not clearly below the entropy of the targets' frequencies
//   translations   are all empty, or one and the same
//
// or that it has learned its training data alone:
//
//   held_out       the loss on held-out data is not below that entropy, and does not fall any more
//
// `state` is that of the run's end, `peak` its largest rate. The model is in eval() afterwards.
std::string not_learned(Learner& learner, const TrainOptions& options, const TrainState& state,
                        double peak, const Measures& held_out);

}  // namespace glim
