// glim translate: sentences from standard input, one a line, to standard output.
//
// One line in gives one line out, at once; with --nbest N, N lines "LINE ||| TEXT ||| SCORE", LINE counted
// from 0 (Moses' format). --alignments appends the source word that each word attended to most, as "0-0 1-2"
// behind a tab (n-best: behind a further |||). An empty line stays empty. A line that cannot be translated is
// reported on standard error and counts as empty; the others are translated, and the exit status is 1. With
// --json a line is an object (tools/cli/json.md). Words that the vocabulary lacks are named on standard error,
// unless the model copies them.
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/pipeline/translator.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/data/corpus/corpus.hpp"

namespace glim {
namespace {

struct TranslateArguments {
  std::string model = "model";
  TranslateOptions options;
  bool json = false;
};

nlohmann::ordered_json translation_json(std::size_t line, const std::string& source,
                                        const std::vector<std::string>& unknown,
                                        const std::vector<Translation>& list, bool aligned,
                                        const std::string& error) {
  auto translations = nlohmann::ordered_json::array();
  for (const Translation& t : list) {
    nlohmann::ordered_json one = {
        {"text", t.text}, {"score", t.score}, {"log_prob", t.log_prob}, {"finished", t.finished}};
    if (aligned) one["alignment"] = pharaoh_alignment(t);
    translations.push_back(std::move(one));
  }
  nlohmann::ordered_json all = {{"line", line + 1},
                                {"source", source},
                                {"unknown", unknown},
                                {"translations", std::move(translations)}};
  if (!error.empty()) all["error"] = error;
  return all;
}

void show(std::size_t line, const std::vector<Translation>& list, const TranslateOptions& o) {
  if (o.n_best == 1) {
    std::string text = list[0].text;
    if (o.alignments) text += "\t" + pharaoh_alignment(list[0]);
    print(text + "\n");
    return;
  }
  for (const Translation& t : list) {
    std::string text = fmt::format("{} ||| {} ||| {:.6f}", line, t.text, t.score);
    if (o.alignments) text += " ||| " + pharaoh_alignment(t);
    print(text + "\n");
  }
}

void run_translate(TranslateArguments& a) {
  const Translator translator(a.model);
  if (a.options.alignments && !translator.attends())
    throw ValueError("--alignments",
                     a.model + " has no attention: it was trained with --attention none");
  std::vector<std::string> lines, names, errors;  // of a line that was refused: why
  bool refused = false;
  std::size_t first = 0;
  auto flush = [&] {
    auto found = translator.translate(lines, a.options, names);
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::vector<std::string> unknown;
      if (!translator.model()->copies())
        unknown =
            unknown_parts(*translator.tokenizers().source, lines[i], translator.model()->max_len());
      if (a.json)
        print_json(translation_json(first + i, lines[i], unknown, found[i], a.options.alignments,
                                    errors[i]));
      else
        show(first + i, found[i], a.options);
      if (!unknown.empty())
        note(fmt::format("{}: unknown to the model: {}", names[i], fmt::join(unknown, ", ")));
    }
    print_flush();
    first += lines.size();
    lines.clear();
    names.clear();
    errors.clear();
  };
  std::string line;
  while (next_line(stdin, line)) {
    if (first == 0 && lines.empty() && line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);
    names.push_back("standard input:" + std::to_string(first + lines.size() + 1));
    errors.emplace_back();
    try {
      require_text(names.back(), line);
      translator.encode(line, names.back(), a.options.truncate);
    } catch (const FileError& e) {
      report_error(e.one_line());
      refused = true;
      errors.back() = e.problem();
      line.clear();
    }
    lines.push_back(line);
    if (static_cast<Index>(lines.size()) >= a.options.batch) flush();
  }
  if (!lines.empty()) flush();
  if (refused) throw Exit(1);
}

}  // namespace

Command translate_command() {
  Command c("translate", "translate standard input, line by line");
  auto a = std::make_shared<TranslateArguments>();
  a->options.batch = 1;
  a->options.beam = 4;
  c.option("model", &a->model, "folder of a model, or one of its files");
  c.option("beam", &a->options.beam, "prefixes kept at each step; 1 is greedy", kBeam);
  c.option("length-penalty", &a->options.length_penalty, "α: scores are divided by ((5 + n)/6)^α",
           kNotNegative);
  c.option("nbest", &a->options.n_best, "translations of each line; at most the beam", kPositive);
  c.option("max-tokens", &a->options.max_length,
           "largest number of tokens written for a line (0: twice the source's and 10)", kCount);
  c.option("batch-sentences", &a->options.batch,
           "lines translated together: faster, but printed together", kPositive);
  c.option("alignments", &a->options.alignments, "also print which word attended where");
  c.option("truncate", &a->options.truncate, "cut lines beyond the model's maximum");
  c.option("json", &a->json, "print a JSON object for each line");
  c.words_are = "sentences are read from standard input: echo 'I have a cat' | glim translate";
  c.run = [a](Command&) { run_translate(*a); };
  return c;
}

}  // namespace glim
