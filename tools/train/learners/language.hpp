// Learning to continue text: the kind `gpt`.
//
//   loss = -Σ ln P(token t+1 | tokens 1 … t) over crops of `block` tokens
//
// Training reads each epoch the whole text once, cut into crops from a random place on and in random
// order, both functions of (seed, epoch): crops at random places, none of which overlap. (nanoGPT
// draws each crop's place, and sees some of the text twice and some of it not.) Validation reads
// the whole validation part in consecutive blocks. The
// parts are nanoGPT's: the first 90 % of the characters (of the lines, unless tokens are
// characters) to train, the rest to validate; or another file to validate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/gpt/gpt.hpp"
#include "tools/data/tokenizers/tokenizer.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/learner.hpp"

namespace glim {

// A model ready to generate with, in eval().
struct LoadedLanguageModel {
  Checkpoint checkpoint;
  TokenizerPtr tokenizer;
  std::unique_ptr<Gpt> model;
};
// `path` as model_file takes it. FileError naming the file, also for a model of another kind.
LoadedLanguageModel load_language_model(const std::string& path);

std::unique_ptr<Learner> make_language_learner(const TrainOptions& options, const Checkpoint* from);

}  // namespace glim
