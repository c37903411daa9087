#include "tools/train/learners/labels.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "tensor/error.hpp"
#include "tools/common/utf8.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/stored_json.hpp"

namespace glim {
namespace {

std::optional<long long> number_of(const std::string& text) {
  long long value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool blank(std::string_view text) { return split_spaces(text).empty(); }

std::vector<std::string> standard_input() {
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (auto bad = first_invalid_utf8(line))
      throw FileError("standard input:" + std::to_string(lines.size() + 1),
                      describe_invalid_utf8(line, *bad));
    lines.push_back(line);
  }
  if (lines.empty()) throw FileError("standard input", "is empty");
  return lines;
}

}  // namespace

Labels Labels::of(std::span<const std::string> all) {
  Labels l;
  l.names_.assign(all.begin(), all.end());
  std::sort(l.names_.begin(), l.names_.end());
  l.names_.erase(std::unique(l.names_.begin(), l.names_.end()), l.names_.end());
  if (l.names_.size() < 2)
    throw ValueError("labels", "a classifier needs two different labels at least, not " +
                                   (l.names_.empty() ? "none" : "'" + l.names_[0] + "' alone"));
  bool numbers = std::all_of(l.names_.begin(), l.names_.end(),
                             [](const std::string& n) { return number_of(n).has_value(); });
  if (numbers)
    std::stable_sort(l.names_.begin(), l.names_.end(),
                     [](const auto& a, const auto& b) { return *number_of(a) < *number_of(b); });
  return l;
}

Labels Labels::from_json(const std::string& text, const std::string& where) {
  try {
    Labels l;
    nlohmann::json::parse(text).get_to(l.names_);
    if (l.names_.size() < 2) throw FileError(where, "has fewer than two labels");
    return l;
  } catch (const nlohmann::json::exception& e) {
    throw FileError(where, "its labels cannot be read: " + problem_of(e));
  }
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

LabelledSentences read_labelled(const std::string& path) {
  LabelledSentences data;
  data.name = path == "-" ? "standard input" : path;
  std::vector<std::string> lines = path == "-" ? standard_input() : read_lines(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto fail = [&](const std::string& problem) {
      throw FileError(data.name + ":" + std::to_string(i + 1), problem);
    };
    std::size_t tab = lines[i].rfind('\t');
    if (tab == std::string::npos) fail("no tab: the line must be sentence<TAB>label");
    std::string sentence = lines[i].substr(0, tab),
                label = normalize_spaces(lines[i].substr(tab + 1));
    if (blank(sentence)) fail("no sentence before the tab");
    if (label.empty()) fail("no label after the tab");
    data.sentences.push_back(std::move(sentence));
    data.labels.push_back(std::move(label));
    data.line.push_back(static_cast<Index>(i) + 1);
  }
  return data;
}

std::vector<Index> label_numbers(const LabelledSentences& data, const Labels& labels) {
  std::vector<Index> numbers;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    numbers.push_back(labels.find(data.labels[i]));
    if (numbers.back() < 0)
      throw FileError(data.name + ":" + std::to_string(data.line[i]),
                      "the label '" + data.labels[i] + "' is not one of " + labels.list());
  }
  return numbers;
}

}  // namespace glim
