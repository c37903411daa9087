// The kinds of model that `glim train --kind` knows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/train/checkpoint.hpp"
#include "tools/train/learner.hpp"

namespace glim {

struct Kind {
  std::string name;
  // Checks the options that are this kind's, reads the data, builds the model: anew, or with the
  // tokenizers and sizes of a checkpoint (the trainer loads its weights).
  std::unique_ptr<Learner> (*learner)(const TrainOptions& options, const Checkpoint* from);
};

const std::vector<Kind>& kinds();
std::string kind_names();  // "transformer, rnn"

// A learner of options.kind, its random numbers seeded. ValueError for an unknown kind; FileError
// and ValueError as the kind says.
std::unique_ptr<Learner> make_learner(const TrainOptions& options,
                                      const Checkpoint* from = nullptr);

// classification.cpp and language.cpp say what these two learn.
std::unique_ptr<Learner> make_classification_learner(const TrainOptions& options,
                                                     const Checkpoint* from);
std::unique_ptr<Learner> make_language_learner(const TrainOptions& options, const Checkpoint* from);

}  // namespace glim
