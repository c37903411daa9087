// The kind `rnn`: the recurrent sequence-to-sequence model, from options and from a checkpoint.
// Width D is the decoder's hidden size; what only the Transformer has is refused.
#pragma once

#include "tools/train/learners/translation.hpp"

namespace glim {

SequenceKind rnn_kind();

}  // namespace glim
