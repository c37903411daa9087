// The kind `conv`: from options to a convolutional sequence-to-sequence model, and back from a
// checkpoint.
#pragma once

#include "tools/train/learners/translation.hpp"

namespace glim {

SequenceKind conv_kind();

}  // namespace glim
