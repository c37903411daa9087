// What `glim classify` does with each kind of model that classifies: a function in a file of its
// own, and a line in the table of classify.cpp.
#pragma once

#include <string>
#include <vector>

#include "tools/train/learners/labels.hpp"

namespace glim {

struct ClassifyArguments {
  std::string model = "model", labelled;
  std::string images, labels, image_folder;
  std::vector<std::string> files;
  bool truncate = false;
};

// Sentences from standard input, or accuracy over sentence<TAB>label lines (kind `classifier`).
void classify_sentences(const ClassifyArguments& a);

// PNG files or IDX images, or accuracy over labelled ones (kind `vit`).
void classify_images(const ClassifyArguments& a);

// "1<TAB>0=0.0312 1=0.9688"
std::string result_line(const Labels& labels, const Classified& c);

// How often what was found is what it should be, in all and by class.
class Accuracy {
 public:
  explicit Accuracy(const Labels& labels);
  void add(Index truth, Index found);
  // "accuracy 0.8073 (704 of 872)", then a line a class.
  std::string text() const;

 private:
  const Labels& labels_;
  std::vector<Index> total_, right_;
};

}  // namespace glim
