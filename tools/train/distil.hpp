// Sequence-level distillation (Kim & Rush 2016, section 3.2): a student learns from what its teacher
// says instead of from the references.
//
//   target_i ← the teacher's best translation of source_i (beam search)
//
// A teacher says similar things in similar ways, where the references vary: fewer choices that a
// model has to leave open, which is what a non-autoregressive one cannot do (Gu et al. 2018, 4.3).
//
// The translations are kept in the model's folder, OUT/distilled.txt, one a line; a resumed run
// reads them there. Pairs whose translation is empty are left out.
#pragma once

#include <string>

#include "tools/data/corpus/corpus.hpp"
#include "tools/train/options.hpp"

namespace glim {

// Replaces the targets of `train` and returns a line that says what was done. `resumed`: the file is
// read if it is there. FileError and ValueError as load_sequence_model and the translator say.
std::string distil(const TrainOptions& options, ParallelCorpus& train, bool resumed);

}  // namespace glim
