// Sentences in, translations out, with a trained model.
//
// The longest output of a source of S tokens is min(2 S + 10, the model's maximum). Errors:
// ValueError for a source beyond the model's maximum (unless it is to be cut), naming the sentence.
#pragma once

#include <string>
#include <vector>

#include "models/decoding/sequence_model.hpp"
#include "models/tokenizers/tokenizer.hpp"
#include "tools/train/processes.hpp"

namespace glim {

struct TranslateOptions {
  int beam = 1, n_best = 1;
  double length_penalty = 1;
  Index max_length = 0;     // of an output, in tokens with END; 0: from the source
  bool truncate = false;    // cut sources that are too long
  bool alignments = false;  // keep the attention
  Index batch = 64;         // sentences decoded together
  // Every `parts`-th batch alone, from number `part` on; the sentences of the others get an empty list.
  Index part = 0, parts = 1;
};

struct Translation {
  std::string text;
  double score = 0, log_prob = 0;
  bool finished = true;
  std::vector<std::string> source_pieces, target_pieces;  // END included, as attention is
  std::vector<std::vector<double>> attention;             // target by source; when kept
};

class Translator {
 public:
  Translator(SequenceModel& model, const TokenizerPair& tokenizers)
      : model_(model), tokenizers_(tokenizers) {}

  // Best first, one list per sentence. A blank sentence gives one empty translation.
  // `names[i]` is the place of sentence i, for errors ("stdin:17").
  std::vector<std::vector<Translation>> translate(const std::vector<std::string>& sentences,
                                                  const TranslateOptions& options,
                                                  const std::vector<std::string>& names = {});

  // The tokens of one sentence, cut if asked; what translate() refuses is refused here. FileError naming `where`.
  std::vector<std::int64_t> encode(const std::string& sentence, const std::string& where,
                                   bool truncate) const;

 private:
  SequenceModel& model_;
  TokenizerPair tokenizers_;
};

// The best translation of each; the processes share the batches.
std::vector<std::string> best_translations(Translator& translator,
                                           const std::vector<std::string>& sentences,
                                           TranslateOptions options, const Processes& processes);

// "0-0 1-2 ...": for each target token, the source token that it attended to most (END left out).
std::string pharaoh_alignment(const Translation& translation);

}  // namespace glim
