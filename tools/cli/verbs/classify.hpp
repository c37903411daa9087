// `glim classify`, for each kind of model that classifies. Each kind has a function in its own file.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/pipeline/classifier.hpp"
#include "models/pipeline/tagger.hpp"

namespace glim {

struct ClassifyArguments {
  std::string model = "model", labelled;
  std::string images, labels, image_folder;
  std::vector<std::string> files;
  std::string columns;  // of a table of labelled sentences
  bool truncate = false, json = false;
};

// Sentences from standard input, or accuracy over sentence<TAB>label lines (kind `classifier`).
void classify_sentences(const ClassifyArguments& a, const ModelFile& model);

// The tokens of sentences from standard input, or accuracy over labelled ones (kind `tagger`).
void classify_tokens(const ClassifyArguments& a, const ModelFile& model);

// PNG files or IDX images, or accuracy over labelled ones (kinds `vit` and `cnn`).
void classify_images(const ClassifyArguments& a, const ModelFile& model);

// Prints what was found of one input: "1<TAB>0=0.0312 1=0.9688", and behind a further tab the name of a file;
// with --json an object that begins with `input`, what it was (tools/cli/json.md).
void print_result(const ClassifyArguments& a, const Labels& labels, const Classified& c,
                  nlohmann::ordered_json input, const std::string& file = {});

// Prints what `find` gives for one input of many, or an empty result if it gives none. An error of `find` is
// reported, is the `error` of the object, and gives an empty result too: the other inputs go on. False then.
bool classify_one(const ClassifyArguments& a, const Labels& labels,
                  const std::function<std::optional<Classified>()>& find,
                  nlohmann::ordered_json input, const std::string& file = {});

// How often the predicted label is right, in all and by class: "accuracy 0.8073 (704 of 872)", then a line a class; with
// --json an object. Behind them the spans, if there are any.
void print_accuracy(const ClassifyArguments& a, const Labels& labels,
                    const std::vector<Index>& truth, const std::vector<Classified>& found,
                    const SpanCounts* spans = nullptr);

}  // namespace glim
