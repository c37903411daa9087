#include "tools/kinds/tagged_data.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/io/stored_json.hpp"
#include "tools/common/counted.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/files.hpp"
#include "tools/data/corpus/records.hpp"

namespace glim {
namespace {

[[noreturn]] void fail(const TaggedData& data, Index line, const std::string& problem) {
  throw FileError(fmt::format("{}:{}", data.name, line), problem);
}

void add(TaggedData& data, TaggedSentence sentence) {
  if (!sentence.tokens.empty())
    data.sentences.push_back(std::move(sentence));
  else if (data.empty++ == 0)
    data.first_empty = sentence.line;
}

constexpr std::string_view kDocument = "-DOCSTART-";  // begins one, in CoNLL-2003

void read_columns(TaggedData& data, const std::vector<std::string>& lines) {
  std::size_t columns = 0;
  TaggedSentence now{{}, {}, 1};
  bool began = false;  // a document, in the line before
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto line = static_cast<Index>(i) + 1;
    const auto fields = split_spaces(lines[i]);
    const bool begins = !fields.empty() && fields.front() == kDocument;
    if (fields.empty() || begins) {
      if (!now.tokens.empty() || !(begins || began)) add(data, std::move(now));
      now = {{}, {}, line + 1};
      began = begins;
      continue;
    }
    began = false;
    if (fields.size() < 2) fail(data, line, "no label: the line must be TOKEN<TAB>LABEL");
    if (columns == 0) columns = fields.size();
    if (fields.size() != columns)
      fail(
          data, line,
          fmt::format("{}, the first line has {}", counted(std::ssize(fields), "column"), columns));
    now.tokens.emplace_back(fields.front());
    now.labels.emplace_back(fields.back());
  }
  if (!now.tokens.empty()) data.sentences.push_back(std::move(now));
}

void read_objects(TaggedData& data, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto line = static_cast<Index>(i) + 1;
    if (split_spaces(lines[i]).empty()) continue;
    TaggedSentence one{{}, {}, line};
    try {
      const auto json = parse_json(lines[i]);
      json.at("tokens").get_to(one.tokens);
      json.at("labels").get_to(one.labels);
    } catch (const nlohmann::json::exception& e) {
      fail(data, line, R"(must be {"tokens": [TEXT, …], "labels": [TEXT, …]}: )" + problem_of(e));
    } catch (const ValueError& e) {
      fail(data, line, e.problem());
    }
    if (one.tokens.size() != one.labels.size())
      fail(data, line,
           fmt::format("{} and {}", counted(std::ssize(one.tokens), "token"),
                       counted(std::ssize(one.labels), "label")));
    for (const auto& [what, texts] : {std::pair("token", &one.tokens), {"label", &one.labels}})
      for (const std::string& text : *texts)
        if (split_spaces(text).size() != 1)
          fail(data, line, fmt::format("the {} '{}' is blank or has white space", what, text));
    if (one.tokens.size() != 1 || one.tokens[0] != kDocument) add(data, std::move(one));
  }
}

}  // namespace

TaggedData read_tagged(const std::string& path) {
  const std::vector<std::string> lines = read_lines(path);
  TaggedData data{shown_path(path), {}};
  if (table_format(path, lines[0]) == TableFormat::JsonLines)
    read_objects(data, lines);
  else
    read_columns(data, lines);
  if (data.sentences.empty()) throw FileError(data.name, "has no sentence");
  return data;
}

std::vector<std::vector<Index>> label_numbers(const TaggedData& data, const Labels& labels) {
  std::vector<std::vector<Index>> all;
  for (const TaggedSentence& s : data.sentences) {
    std::vector<Index>& numbers = all.emplace_back();
    for (std::size_t t = 0; t < s.labels.size(); ++t)
      numbers.push_back(
          labels.number(s.labels[t], fmt::format("{}:{}: token {}", data.name, s.line, t + 1)));
  }
  return all;
}

}  // namespace glim
