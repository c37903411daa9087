// Sentences in, translations out, with a trained model of any kind that translates.
//
//   const Translator translator("model");              // a folder of glim train, or one of its files
//   std::string text = translator("I have a cat");     // greedy
//   translator.translate(lines, {.beam = 4, .n_best = 2, .alignments = true});
//
// All calls are const. Several threads may use one Translator at once, and each gets the bytes that it would get alone.
//
// The longest output of a source of S tokens is min(2 S + 10, the model's maximum). Errors: FileError naming the file
// for a folder that holds no such model; FileError naming the sentence for one beyond the model's maximum (unless it is
// to be cut) or that is not UTF-8; ValueError naming an option.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/decoding/sequence_model.hpp"
#include "models/pipeline/model_file.hpp"
#include "models/tokenizers/tokenizer.hpp"

namespace glim {

struct TranslateOptions {
  int beam = 1, n_best = 1;
  double length_penalty = 1;
  Index max_length = 0;     // longest output, in tokens with END; 0: from the source
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
  // `path`: the folder of a model, or one of its files.
  explicit Translator(const std::string& path) : Translator(read_model(path)) {}
  explicit Translator(const ModelFile& file);
  // `model` is in eval(). It may be trained between two calls.
  Translator(std::shared_ptr<SequenceModel> model, TokenizerPair tokenizers)
      : model_(std::move(model)), tokenizers_(std::move(tokenizers)) {}

  // The best translation of one sentence.
  std::string operator()(const std::string& sentence, const TranslateOptions& options = {}) const {
    return translate({sentence}, options)[0][0].text;
  }
  // The translations of one sentence, best first.
  std::vector<Translation> best(const std::string& sentence,
                                const TranslateOptions& options = {}) const {
    return translate({sentence}, options)[0];
  }
  // Best first, one list per sentence. A blank sentence gives one empty translation.
  // `names[i]` is the place of sentence i, for errors ("stdin:17").
  std::vector<std::vector<Translation>> translate(const std::vector<std::string>& sentences,
                                                  const TranslateOptions& options = {},
                                                  const std::vector<std::string>& names = {}) const;

  // The tokens of one sentence, cut if asked; what translate() refuses is refused here. FileError naming `where`.
  std::vector<std::int64_t> encode(const std::string& sentence, const std::string& where,
                                   bool truncate) const;

  // True unless the model is an RNN with --attention none. If false, `alignments` is a ValueError.
  bool attends() const;
  const std::shared_ptr<SequenceModel>& model() const { return model_; }
  const TokenizerPair& tokenizers() const { return tokenizers_; }

 private:
  std::shared_ptr<SequenceModel> model_;
  TokenizerPair tokenizers_;
};

// "0-0 1-2 ...": for each target token, the source token that it attended to most (END left out).
std::string pharaoh_alignment(const Translation& translation);

}  // namespace glim
