// Learning to classify sentences: the kind `classifier` (models/bert/bert.hpp), from scratch or from a
// pre-trained encoder.
//
//   loss = Σ KL(q ‖ p) over the sentences, q the label, smoothed
//
// Word dropout replaces each token of a training sentence by <unk> with this probability: a label must not
// depend on one word (Iyyer et al. 2015, section 3.1 "word dropout").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/train/learners/bert.hpp"

namespace glim {

std::unique_ptr<Learner> make_classification_learner(const TrainOptions& options,
                                                     const Checkpoint* from);

}  // namespace glim
