// Models side by side, with the same data and the same number of passes over it: the argument for attention
// over recurrence and convolution, as a measurement.
//
//   parameters       as counted by the module tree
//   training         wall-clock seconds, and processor seconds (independent of other work on the machine)
//   perplexity       e^NLL per target token of the test pairs; a non-autoregressive model is told the
//                    length, and its tokens do not see each other
//   BLEU, exact      of the test translations; BLEU on words, or on characters if the target's tokens are
//                    characters
//   time per sentence  median over test sentences, each translated alone, in milliseconds
//   path             ops on the longest chain from source to output at 10 and 40 tokens
//                    (dependency_path.hpp)
//   passes           of the decoder for a sentence of n tokens: n, or 1
//
// Classifiers of images have instead the accuracy on the images that are held out, which also choose the checkpoint, and
// the time per image, in batches.
#pragma once

#include <string>
#include <vector>

#include "models/pipeline/translator.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/kinds/options.hpp"

namespace glim {

struct CompareOptions {
  int beam = 1;
  std::string tokenize = "auto";  // of BLEU on words
  Index timed = 200;              // test sentences translated alone
};

struct Comparison {
  std::string name, kind;
  Index parameters = 0;
  double train_seconds = -1, processor_seconds = -1;  // below 0: trained before
  double perplexity = 0, bleu = 0, exact = 0;         // exact: percent
  double milliseconds = 0;
  Index path_short = 0, path_long = 0;
  bool one_pass = false;
  double accuracy = 0;  // of images
};

// Trains a model with these options in its folder, and prints one line per epoch on standard error. Errors as
// glim train's.
// FileError before it begins when a sentence of `test`, unless null, is too long for the model.
void train_for_comparison(const TrainOptions& options, const ParallelCorpus* test, Comparison& row);

// Fills in everything but the training of the model in `path`. `test` has its pairs.
void measure_for_comparison(const std::string& path, const ParallelCorpus& test,
                            const CompareOptions& options, Comparison& row);

// Fills in the measurements of a classifier of images. ValueError where no images are held out.
void measure_images_for_comparison(const TrainOptions& options, Comparison& row);
std::string image_comparison_table(const std::vector<Comparison>& rows, const std::string& data);

// The table and its explanation, as Markdown.
std::string comparison_table(const std::vector<Comparison>& rows, const std::string& data,
                             const CompareOptions& options);

}  // namespace glim
