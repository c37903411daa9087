// How far apart the two ends of a sentence are inside a model (Vaswani et al. 2017, table 1, "maximum
// path length"), counted on the tape of one teacher-forced pass instead of derived on paper:
//
//   path(n) = most ops on any chain from the source embedding to the logits, for n source and n
//             target tokens, every op a primitive (OpForm::Explicit)
//
// With attention the path is as long for 40 tokens as for 10. A model that steps through the sentence has a
// path that grows with each token by the ops of a step, and its gradient has to come back all that way.
#pragma once

#include "models/decoding/sequence_model.hpp"

namespace glim {

// Ops on the longest chain from `source` to `target`; -1 where there is none.
Index longest_chain(const Tape& tape, const Var& source, const Var& target);

// path(length). The model is put into eval() and back. ValueError where it embeds no source
// or its maximum is below the length.
Index dependency_path(SequenceModel& model, Index length);

}  // namespace glim
