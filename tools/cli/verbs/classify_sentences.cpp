// glim classify with a model of kind `classifier`.
//
// One line in gives one line out, at once: the label, a tab, and every label's probability. An empty line stays
// empty. So does a line that cannot be read, which is reported; the exit status then is 1.
#include <cstdio>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/cli/verbs/classify.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/kinds/labels.hpp"

namespace glim {
namespace {

void measure_labelled(const Classifier& classifier, const ClassifyArguments& a,
                      const ModelFile& model) {
  const bool trained = a.columns.empty() && !model.run.empty();
  ParallelCorpus data =
      read_labelled(a.labelled, trained ? trained_options(model).columns : a.columns);
  std::vector<Index> truth = label_numbers(data, classifier.labels());
  std::vector<Classified> found;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    std::string name = data.source_name + ":" + std::to_string(data.line[i]);
    found.push_back(classifier.classify({data.pairs[i].source}, a.truncate, {name})[0]);
  }
  print_accuracy(a, classifier.labels(), truth, found);
}

}  // namespace

void classify_sentences(const ClassifyArguments& a, const ModelFile& model) {
  if (!a.columns.empty() && a.labelled.empty())
    throw ValueError("--columns", "names those of --labelled FILE");
  const Classifier classifier(model);
  if (!a.labelled.empty()) return measure_labelled(classifier, a, model);
  std::string line;
  bool all = true;
  for (Index number = 1; next_line(stdin, line); ++number) {
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    std::string name = "standard input:" + std::to_string(number);
    auto find = [&]() -> std::optional<Classified> {
      require_text(name, line);
      if (split_spaces(line).empty()) return {};
      const auto unknown =
          unknown_parts(*classifier.tokenizer(), line, classifier.model()->bert.config().max_len);
      if (!unknown.empty())
        note(fmt::format("{}: unknown to the model: {}", name, fmt::join(unknown, ", ")));
      return classifier.classify({line}, a.truncate, {name})[0];
    };
    all = classify_one(a, classifier.labels(), find, {{"line", number}}) && all;
  }
  if (!all) throw Exit(1);
}

}  // namespace glim
