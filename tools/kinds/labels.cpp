#include "tools/kinds/labels.hpp"

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/records.hpp"

namespace glim {

ParallelCorpus read_labelled(const std::string& path, const std::string& columns) {
  Table table = read_table(path, columns, {"sentence", "label"});
  ParallelCorpus data;
  data.source_name = data.target_name = table.name;
  data.line = table.line;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    SentencePair pair{std::move(table.rows[i][0]), normalize_spaces(table.rows[i][1])};
    const bool blank = split_spaces(pair.source).empty();
    if (blank || pair.target.empty())
      throw FileError(data.source_name + ":" + std::to_string(data.line[i]),
                      blank ? "no sentence" : "no label");
    data.pairs.push_back(std::move(pair));
  }
  return data;
}

std::vector<Index> label_numbers(const ParallelCorpus& data, const Labels& labels) {
  std::vector<Index> numbers;
  for (std::size_t i = 0; i < data.pairs.size(); ++i)
    numbers.push_back(
        labels.number(data.pairs[i].target, data.source_name + ":" + std::to_string(data.line[i])));
  return numbers;
}

}  // namespace glim
