#include "tools/train/learners/labels.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/io/stored_json.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/common/number.hpp"
#include "tools/data/corpus/records.hpp"

namespace glim {

Labels Labels::of(std::span<const std::string> all, const std::string& where) {
  Labels l;
  l.names_.assign(all.begin(), all.end());
  std::sort(l.names_.begin(), l.names_.end());
  l.names_.erase(std::unique(l.names_.begin(), l.names_.end()), l.names_.end());
  if (l.names_.size() < 2)
    throw FileError(where, "a classifier needs at least two different labels, not " +
                               (l.names_.empty() ? "none" : "only '" + l.names_[0] + "'") +
                               ": add examples of another");
  bool numbers = std::all_of(l.names_.begin(), l.names_.end(), [](const std::string& n) {
    return number_in<long long>(n).has_value();
  });
  if (numbers)
    std::stable_sort(l.names_.begin(), l.names_.end(), [](const auto& a, const auto& b) {
      return *number_in<long long>(a) < *number_in<long long>(b);
    });
  return l;
}

Labels Labels::from_json(const std::string& text, const std::string& where) {
  return read_json(text, "[]", where, "labels", [](const nlohmann::json& j) {
    Labels l;
    j.get_to(l.names_);
    if (l.names_.size() < 2) throw ValueError("", "there are fewer than two");
    return l;
  });
}

std::string Labels::to_json() const { return nlohmann::json(names_).dump(); }

Index Labels::find(const std::string& name) const {
  auto at = std::find(names_.begin(), names_.end(), name);
  return at == names_.end() ? -1 : static_cast<Index>(at - names_.begin());
}

std::string Labels::list() const {
  std::string text;
  for (const std::string& n : names_) text += (text.empty() ? "" : ", ") + n;
  return text;
}

std::vector<Classified> classified(const Tensor& logits) {
  Tensor probs = softmax(logits).to(DType::Float64).contiguous();
  std::vector<Classified> found;
  for (Index best : argmax(probs, -1).to_vector<Index>())
    found.push_back({best, select(probs, 0, std::ssize(found)).to_vector<double>()});
  return found;
}

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
  for (std::size_t i = 0; i < data.pairs.size(); ++i) {
    const std::string& label = data.pairs[i].target;
    numbers.push_back(labels.find(label));
    if (numbers.back() < 0)
      throw FileError(data.source_name + ":" + std::to_string(data.line[i]),
                      "the label '" + label + "' is not one of " + labels.list());
  }
  return numbers;
}

}  // namespace glim
