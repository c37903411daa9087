// The kind `bert`: pre-training an encoder on masked tokens (models/bert/bert.hpp), and what it shares
// with the classifiers that start from it.
//
//   loss = -Σ ln P(token | the rest of its sentence) over the tokens chosen anew in each epoch
//
// There is one sentence per line. Without a validation file the last tenth of the lines validate, always with
// the same mask.
#pragma once

#include "models/bert/bert.hpp"
#include "tools/kinds/sentences.hpp"

namespace glim {

// Checks the options of encoder-only models.
void check_encoder(const TrainOptions& o);
// These sizes, for sentences as long as the options say.
BertConfig bert_config(BertConfig sizes, const TrainOptions& o, Index tokens);

// Gives the encoder the weights of a pre-trained one (kind bert).
void load_encoder(Bert& encoder, const ModelFile& pretrained);

}  // namespace glim
