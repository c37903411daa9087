// Sentences with a label for each token, from files.
#pragma once

#include <string>
#include <vector>

#include "models/pipeline/labels.hpp"

namespace glim {

struct TaggedSentence {
  std::vector<std::string> tokens, labels;  // as many
  Index line = 0;                           // where it begins, counted from 1
};
struct TaggedData {
  std::string name;
  std::vector<TaggedSentence> sentences;  // none is empty
  Index empty = 0, first_empty = 0;       // left out, and the line of the first
};

// A token and its label a line, divided by tabs or spaces, and a blank line behind each sentence. Of more columns the
// first and the last count (CoNLL). A line whose token is -DOCSTART- ends a sentence, too. Or JSON lines, {"tokens": ["Ada", …], "labels": ["B-PER", …]}. FileError with file
// and line for a line with another number of columns than the first, and for tokens without as many labels.
TaggedData read_tagged(const std::string& path);
// FileError with file and line for a label that is not one of `labels`.
std::vector<std::vector<Index>> label_numbers(const TaggedData& data, const Labels& labels);

}  // namespace glim
