// --init-from: a new run that begins with the weights of a trained model. Vocabulary and sizes are that
// model's, and so are the options that describe them; dropout is, too, unless it is given.
#pragma once

#include <memory>

#include "tools/kinds/presets.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {

// The model that --init-from names. Sets its kind and sizes in `options` unless the user gave them. Null without
// --init-from, and for a classifier that begins with a bert, whose encoder it takes itself. FileError for a model of another kind, ValueError for an option that contradicts the model.
std::unique_ptr<Checkpoint> starting_model(TrainOptions& options, const OptionGiven& is_given);

// What a run that begins with a model does with an option: sizes are the model's, others free, unless the row says.
FromStart start_of(const Row& row);

}  // namespace glim
