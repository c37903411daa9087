// Learning to continue text: the kind `gpt`.
//
//   loss = -Σ ln P(token t+1 | tokens 1 … t) over crops of `block` tokens
//
// Each epoch reads the whole text once. It is cut into crops that do not overlap, from a random place on, and
// they are read in random order; both are functions of (seed, epoch). (nanoGPT draws the place of each crop,
// so it sees some text twice and some not at all.) Validation reads the whole validation part in consecutive
// blocks. The parts are nanoGPT's: the first 90 % of the characters (of the lines, unless tokens are
// characters) train, the rest validates, or another file does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/train/checkpoint.hpp"
#include "tools/train/learner.hpp"

namespace glim {

std::unique_ptr<Learner> make_language_learner(const TrainOptions& options, const Checkpoint* from);

}  // namespace glim
