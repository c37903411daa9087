// Sequence-level distillation (Kim & Rush 2016, section 3.2): a student learns from what its teacher
// translates, not from the references.
//
//   target_i ← the teacher's best translation of source_i (beam search)
//
// A teacher translates similar sentences in similar ways, where the references vary. That leaves fewer
// choices open, and open choices are what a non-autoregressive model cannot handle (Gu et al. 2018, 4.3).
//
// The translations are kept in the model's folder, OUT/distilled.txt, one per line; a resumed run reads them
// there. Pairs whose translation is empty are left out.
#pragma once

#include <string>

#include "tools/data/corpus/corpus.hpp"
#include "tools/train/options.hpp"

namespace glim {

// Replaces the targets of `train` and returns a line about it. `resumed`: the file is read if it
// exists. FileError and ValueError as load_sequence_model and the translator say.
std::string distil(const TrainOptions& options, ParallelCorpus& train, bool resumed);

}  // namespace glim
