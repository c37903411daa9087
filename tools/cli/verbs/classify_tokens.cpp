// glim classify with a model of kind `tagger`.
//
// A sentence a line in gives TOKEN<TAB>LABEL lines and a blank one, as --labelled reads them; with --json an object a
// sentence. A line that is empty or cannot be read, which is reported, gives the blank line alone; the exit status then
// is 1.
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/cli/verbs/classify.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/kinds/tagged_data.hpp"

namespace glim {
namespace {

std::vector<std::string> names_of(const Labels& labels, const std::vector<Classified>& found) {
  std::vector<std::string> names;
  for (const Classified& c : found) names.push_back(labels.name(c.label));
  return names;
}

void measure_labelled(const ClassifyArguments& a, const Tagger& tagger) {
  const TaggedData data = read_tagged(a.labelled);
  const auto numbers = label_numbers(data, tagger.labels());
  std::vector<Index> truth;
  std::vector<Classified> found;
  SpanCounts spans;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const TaggedSentence& s = data.sentences[i];
    const auto labels = tagger.tag(s.tokens, a.truncate, fmt::format("{}:{}", data.name, s.line));
    const auto count = std::ssize(labels);
    spans.add(names_of(tagger.labels(), labels), {s.labels.begin(), s.labels.begin() + count});
    truth.insert(truth.end(), numbers[i].begin(), numbers[i].begin() + count);
    found.insert(found.end(), labels.begin(), labels.end());
  }
  print_accuracy(a, tagger.labels(), truth, found,
                 tagger.labels().find("O") < 0 ? nullptr : &spans);
}

}  // namespace

void classify_tokens(const ClassifyArguments& a, const ModelFile& model) {
  if (!a.columns.empty())
    throw ValueError("--columns", "a model of kind " + model.kind +
                                      " reads the first and the last column; leave "
                                      "the option out, or use a model of kind " +
                                      names_of_kinds({Gives::Class}));
  const Tagger tagger(model);
  if (!a.labelled.empty()) return measure_labelled(a, tagger);
  std::string line;
  bool all = true;
  for (Index number = 1; next_line(stdin, line); ++number) {
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    const std::string name = "standard input:" + std::to_string(number);
    std::vector<std::string> tokens, labels;
    nlohmann::ordered_json object = {{"line", number}};
    try {
      require_text(name, line);
      for (std::string_view token : split_spaces(line)) tokens.emplace_back(token);
      if (!tokens.empty()) labels = names_of(tagger.labels(), tagger.tag(tokens, a.truncate, name));
    } catch (const FileError& e) {
      report_error(e.one_line());
      object["error"] = e.problem();
      all = false;
    }
    tokens.resize(labels.size());
    if (a.json) {
      object["tokens"] = tokens;
      object["labels"] = labels;
      print_json(object);
      continue;
    }
    for (std::size_t t = 0; t < labels.size(); ++t) print_line(tokens[t] + "\t" + labels[t]);
    print_line("");
  }
  if (!all) throw Exit(1);
}

}  // namespace glim
