// glim study: published claims as experiments, with what was measured and whether they held.
//
// A claim that does not hold is a result: the exit status is 0. The text goes to standard output;
// --out keeps the numbers as JSON and the plots as pictures. Processes share the seeds.
#include "tools/study/study.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/system/process.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/folder.hpp"

namespace glim {
namespace {

struct StudyArguments {
  std::vector<std::string> names;
  StudyOptions options;
  std::string out, criteria;
  bool list = false, overwrite = false;
};

std::vector<const Study*> chosen(const std::vector<std::string>& names) {
  std::vector<const Study*> list;
  for (const std::string& name : names) {
    if (name == "all") {
      for (const Study& s : studies()) list.push_back(&s);
    } else {
      list.push_back(&study_of(name));
    }
  }
  return list;
}

std::string path_of(const StudyArguments& a, const std::string& name) {
  return (std::filesystem::path(a.out) / name).string();
}

void keep(const StudyResult& result, const StudyArguments& a) {
  write_file_atomically(path_of(a, result.study->name + ".json"), to_json(result));
  for (const Picture& p : pictures(result))
    write_file_atomically(path_of(a, p.name + ".svg"), p.svg());
}

void run_study(StudyArguments a) {
  if (a.list) {
    if (!a.names.empty())
      throw ValueError("--list", "names all studies: leave out '" + a.names[0] + "'");
    return print(to_text(studies()));
  }
  if (a.names.empty())
    throw ValueError("study", "name one, or 'all'; glim study --list names them");
  std::vector<const Study*> selection = chosen(a.names);
  for (const Study* s : selection)
    if (!a.options.text.empty() && !s->measure_text)
      throw ValueError("--text", "the study " + s->name + " reads no text");
  Study judged;
  if (!a.criteria.empty()) {
    if (selection.size() != 1) throw ValueError("--criteria", "judges one study: name it alone");
    judged = *selection[0];
    judged.criteria = criteria_in(a.criteria, judged);
    judged.criteria_file = a.criteria;
    selection = {&judged};
  }
  const Processes& world = Processes::world();
  if (!world.first()) a.out.clear();
  world.together([&] {
    if (a.out.empty()) return;
    for (const Study* s : selection) refuse_existing(path_of(a, s->name + ".json"), a.overwrite);
    make_folder(a.out);
  });
  std::vector<StudyResult> results;
  for (const Study* s : selection) {
    if (is_terminal(2) && !quiet())
      a.options.starting = [&](std::uint64_t seed) {
        std::fputs(fmt::format("{}: seed {}\n", s->name, seed).c_str(), stderr);
      };
    results.push_back(run_study(*s, a.options, world));
    print_line((results.size() > 1 ? "\n" : "") + to_text(results.back()));
    // After each study, so that an interrupted `all` keeps what it found.
    if (!a.out.empty()) keep(results.back(), a);
  }
  if (results.size() < 2) return;
  print("\n");
  for (const StudyResult& r : results)
    print(fmt::format("{:<18} {}\n", r.study->name, verdict_text(r)));
}

}  // namespace

Command study_command() {
  auto a = std::make_shared<StudyArguments>();
  Command c("study", "run a published claim as an experiment");
  c.shares_work = true;
  Option& names = c.argument("study", &a->names, "studies to run");
  for (const Study& s : studies()) names.choices.push_back(s.name);
  names.choices.emplace_back("all");
  c.option("list", &a->list, "list the studies, with claim and source");
  c.option("seeds", &a->options.seeds, "number of seeds, one run each", {1, 1000});
  c.option("seed", &a->options.first_seed, "the first seed", kCount);
  c.option("quick", &a->options.small, "small sizes: seconds, too small to judge");
  c.option("text", &a->options.text,
           "text that the study modern learns, in place of the phrasebook's");
  c.option("criteria", &a->criteria,
           "file of criteria in place of the study's own: KEY = [quantity, low, high, reason]");
  c.option("out", &a->out, "folder for STUDY.json and the plots (SVG)");
  c.option("overwrite", &a->overwrite, "replace the results in --out");
  c.run = [a](Command&) { run_study(*a); };
  return c;
}

}  // namespace glim
