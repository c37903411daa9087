// Training runs within a study: the program's own loop (tools/train/trainer.hpp), with checkpoints in a
// temporary folder that is removed.
#pragma once

#include <memory>

#include "tools/kinds/learner.hpp"
#include "tools/kinds/options.hpp"

namespace glim {

struct StudyRun {
  std::unique_ptr<Learner> learner;              // with the last weights; null after a divergence
  Measures valid;                                // means at the end
  std::vector<std::pair<double, double>> curve;  // update, validation NLL
  bool diverged = false;                         // a loss, gradient or weight that is not finite
};
// `options.out` is ignored; the random numbers are seeded with options.seed.
StudyRun train_for_study(TrainOptions options);

}  // namespace glim
