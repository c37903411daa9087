// Sequence-level distillation (Kim & Rush 2016, section 3.2): a student learns from the translations of its
// teacher, not from the references.
//
//   target_i ← the teacher's best translation of source_i (beam search)
//
// A teacher translates similar sentences in similar ways, where the references vary. That leaves fewer
// choices open, and open choices are what a non-autoregressive model cannot handle (Gu et al. 2018, 4.3).
//
// The translations are kept in the model's folder, OUT/distilled.txt, one per line. Pairs whose translation is empty
// are left out.
#pragma once

#include <string>

#include "tools/common/processes.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/kinds/options.hpp"

namespace glim {

// OUT/distilled.txt.
std::string distilled_file(const TrainOptions& options);
// Writes it. The processes share the sentences, and each writes the file: it may have a disk of its own. FileError and
// ValueError as the translator says.
void distil(const TrainOptions& options, const Processes& processes = {});

// Puts its lines in place of the targets of `train` and returns a line about it. FileError unless there is one for each
// pair.
std::string take_distilled(const TrainOptions& options, ParallelCorpus& train);

}  // namespace glim
