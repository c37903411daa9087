// Learning to classify sentences: the kind `classifier` (models/bert/bert.hpp), from scratch or from a
// pre-trained encoder.
//
//   loss = Σ KL(q ‖ p) over the sentences, q the label, smoothed
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/train/learners/bert.hpp"

namespace glim {

std::unique_ptr<Learner> make_classification_learner(const TrainOptions& options,
                                                     const Checkpoint* from);

}  // namespace glim
