// Sentences with their labels, from tables.
#pragma once

#include <string>
#include <vector>

#include "models/pipeline/labels.hpp"
#include "tools/data/corpus/corpus.hpp"

namespace glim {

// Sentences with a label each, the target of the pair: a table (tools/data/corpus/records.hpp) with the columns sentence
// and label, which lines of sentence<TAB>label need not name. `columns` names others ("text,class"), if it is not empty.
// FileError with file and line for a blank sentence or a blank label, and as read_table. "-" is standard input.
ParallelCorpus read_labelled(const std::string& path, const std::string& columns = {});
// Their numbers; FileError with file and line for a label that is not one of `labels`.
std::vector<Index> label_numbers(const ParallelCorpus& data, const Labels& labels);

}  // namespace glim
