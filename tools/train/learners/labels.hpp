// The classes of a classifier: their names, in the order of the outputs.
//
// Labels are those of the training data, sorted by number if all are whole numbers, else by their bytes.
// Other labels are an error when they are read, naming file and line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"
#include "tools/data/corpus/corpus.hpp"

namespace glim {

class Labels {
 public:
  Labels() = default;
  // FileError naming `where` for fewer than two different ones.
  static Labels of(std::span<const std::string> all, const std::string& where);
  // FileError naming `where` for text that is not to_json's.
  static Labels from_json(const std::string& text, const std::string& where);
  std::string to_json() const;

  Index size() const { return static_cast<Index>(names_.size()); }
  const std::string& name(Index label) const { return names_.at(static_cast<std::size_t>(label)); }
  // -1 for an unknown label.
  Index find(const std::string& name) const;
  // "0, 1": for messages.
  std::string list() const;

 private:
  std::vector<std::string> names_;
};

// A classifier's answer for one input.
struct Classified {
  Index label = 0;
  std::vector<double> probs;  // by class
};
// Of each row of logits (N, C).
std::vector<Classified> classified(const Tensor& logits);

// Sentences with a label each, the target of the pair: a table (tools/data/corpus/records.hpp) with the columns sentence
// and label, which lines of sentence<TAB>label need not name. `columns` names others ("text,class"), if it is not empty.
// FileError with file and line for a blank sentence or a blank label, and as read_table. "-" is standard input.
ParallelCorpus read_labelled(const std::string& path, const std::string& columns = {});
// Their numbers; FileError with file and line for a label that is not one of `labels`.
std::vector<Index> label_numbers(const ParallelCorpus& data, const Labels& labels);

}  // namespace glim
