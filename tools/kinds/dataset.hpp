// The data of a run: sentence pairs from a built-in task or from files, as text and as tokens.
// Tokenizers are trained on the training pairs only.
#pragma once

#include <string>

#include "tools/data/corpus/corpus.hpp"
#include "tools/kinds/options.hpp"

namespace glim {

struct Dataset {
  ParallelCorpus train, valid, test;  // valid and test may be empty
  TokenizerPair tokenizers;
  TokenizedCorpus train_tokens, valid_tokens;
  std::string held_out;   // which pairs were taken to validate on, if no others were named
  std::string distilled;  // describes the training targets, if a teacher made them
};

// The training and validation pairs, as text; their targets are the references.
Dataset load_pairs(const TrainOptions& options);
// `tokenizers`: those of a checkpoint; otherwise they are trained. FileError and ValueError as
// the text functions say. With --teacher its translations are read, which distil() has written.
Dataset load_dataset(const TrainOptions& options, const TokenizerPair* tokenizers = nullptr);
// Its texts and tokenizers, without tokens.
Dataset load_texts(const TrainOptions& options, const TokenizerPair* tokenizers = nullptr);

// The built-in test pairs of a task (for `phrasebook` its own; for synthetic tasks fresh ones).
std::vector<SentencePair> task_test_pairs(const TrainOptions& options);

}  // namespace glim
