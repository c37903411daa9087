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
#include "tools/train/learners/labels.hpp"

namespace glim {

// A model ready to classify with, in eval().
struct LoadedClassifier {
  TokenizerPtr tokenizer;
  Labels labels;
  std::unique_ptr<SequenceClassifier> model;
  double label_smoothing = 0;  // in training
};
// FileError naming the file, also for a model of another kind.
LoadedClassifier load_classifier(const std::string& path);

// One for each sentence, none of them blank. ValueError naming the place (names[i]) for a sentence
// beyond the model's maximum, unless it is to be cut.
std::vector<Classified> classify(const LoadedClassifier& classifier,
                                 const std::vector<std::string>& sentences,
                                 const std::vector<std::string>& names, bool truncate);

std::unique_ptr<Learner> make_classification_learner(const TrainOptions& options,
                                                     const Checkpoint* from);

}  // namespace glim
