// The kind `bert`: pre-training an encoder on masked tokens (models/bert/bert.hpp), and what it shares
// with the classifiers that start from it.
//
//   loss = -Σ ln P(token | the rest of its sentence) over the tokens chosen anew in each epoch
//
// There is one sentence per line. Without a validation file the last tenth of the lines validate, always with
// the same mask.
#pragma once

#include <memory>
#include <string>

#include "models/bert/bert.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/learners/sentences.hpp"

namespace glim {

// Checks the options of encoder-only models.
void check_encoder(const TrainOptions& o);
BertConfig bert_config(const TrainOptions& o, Index tokens);

// Gives the encoder the weights of a pre-trained one (kind bert).
void load_encoder(Bert& encoder, const ModelFile& pretrained);

// A masked-language model, in eval(), and the options it was trained with. FileError naming the file, also for a
// model of another kind.
struct LoadedBert {
  TokenizerPtr tokenizer;
  TrainOptions options;
  std::unique_ptr<MaskedLanguageModel> model;
};
LoadedBert load_bert(const std::string& path);

std::unique_ptr<Learner> make_masked_learner(const TrainOptions& options, const Checkpoint* from);

}  // namespace glim
