// The kind `non-autoregressive`: from options to sizes to a model, and back from a checkpoint.
#pragma once

#include "tools/train/learners/translation.hpp"

namespace glim {

SequenceKind non_autoregressive_kind();

}  // namespace glim
