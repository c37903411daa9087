// glim compare: the kinds of model on the same data with the same budget, as a table.
//
// Options are glim train's, given to every kind that has them; a kind's presets fill the rest, but
// for the budget (epochs, batch size), which is one for all. With --models, trained models are
// compared as they are. Processes share the models.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <forward_list>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/pipeline/described.hpp"
#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/folder.hpp"
#include "tools/common/shared_work.hpp"
#include "tools/data/bleu/bleu.hpp"
#include "tools/inspect/compare/kinds_compared.hpp"
#include "tools/kinds/dataset.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/pairs.hpp"
#include "tools/kinds/presets.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {

// From one process to another.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Comparison, name, kind, parameters, train_seconds,
                                   processor_seconds, perplexity, bleu, exact, milliseconds,
                                   path_short, path_long, one_pass, accuracy)

namespace {

struct CompareArguments {
  TrainOptions options;
  CompareOptions compare;
  std::string config, test_source, test_reference, test_pairs, table;
  std::vector<std::string> kinds, models;
  bool overwrite = false, json = false;
};

// `run` has the data of training.
ParallelCorpus test_corpus(const CompareArguments& a, const TrainOptions& run) {
  if (!a.test_pairs.empty() && !(a.test_source + a.test_reference).empty())
    throw ValueError("--test-pairs", "has both sides: leave out --test-source and --test-target");
  if (!a.test_pairs.empty())
    return read_pairs(a.test_pairs, a.options.columns.empty() ? run.columns : a.options.columns,
                      true);
  if (a.test_source.empty() != a.test_reference.empty())
    throw ValueError(a.test_source.empty() ? "--test-source" : "--test-target",
                     "is needed: the test set has two files, line by line");
  if (!a.test_source.empty()) return read_parallel(a.test_source, a.test_reference, true);
  const auto pairs = task_test_pairs(run);
  if (!pairs.empty()) return generated_corpus(run.task + " (test)", pairs);
  ParallelCorpus held_out = load_pairs(run).valid;
  if (held_out.pairs.empty())
    throw ValueError("--test-source",
                     "is needed, with --test-target, or --test-pairs: the training data are "
                     "files of which nothing is held out");
  return held_out;
}

bool of_images(const std::string& kind) { return kind_named(kind).gives() == Gives::ImageClass; }

// The budget, the data and the folder, which are one for all kinds.
bool is_common(const std::string& name) {
  return name == "epochs" || name == "batch-tokens" || name == "batch-sentences";
}

std::vector<std::string> kinds_of(const CompareArguments& a) {
  std::vector<std::string> known;
  for (const Kind* k : kinds_that_give({Gives::Translations})) known.push_back(k->name);
  if (a.kinds.empty()) return known;
  for (const std::string& k : a.kinds) {
    if (std::count(a.kinds.begin(), a.kinds.end(), k) > 1)
      throw ValueError("--kinds", "'" + k + "' is listed twice");
    if (of_images(k) != of_images(a.kinds[0]))
      throw ValueError("--kinds", a.kinds[0] + " and " + k + " do not learn from the same data");
  }
  return a.kinds;
}

// The budget, one for all kinds.
void adjust_compare(Command& command, CompareArguments& a) {
  if (!a.kinds.empty() && of_images(a.kinds[0])) {
    a.options.task = "files";
    if (!command.given("epochs")) a.options.epochs = 12;
    a.options.batch_tokens = 0;
    if (!command.given("batch-sentences")) a.options.batch_sentences = 64;
    return;
  }
  for (const char* files : {"source", "pairs"})
    if (command.given(files) && !command.given("task")) a.options.task = "files";
  if (a.options.task == "files") return;
  if (!command.given("epochs")) a.options.epochs = 12;
  if (!command.given("batch-tokens")) a.options.batch_tokens = 1024;
}

// The options of one kind: those given, without those that are other kinds', and its presets.
TrainOptions options_of(Command& command, const CompareArguments& a, const std::string& kind) {
  TrainOptions o = a.options;
  o.kind = kind;
  TrainOptions defaults;
  const Rows usual = defaults.table(), rows = o.table();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!kind_named(kind).has(rows[i].key())) restore(rows[i], stored(usual[i]));
  apply_preset(o, [&](const std::string& name) {
    const Option* option = command.find(name);
    return is_common(name) || (option && option->is_set);
  });
  o.out = (std::filesystem::path(a.options.out) / kind).string();
  return o;
}

nlohmann::ordered_json comparison_json(const std::vector<Comparison>& rows, const std::string& data,
                                       const CompareOptions& options) {
  auto models = nlohmann::ordered_json::array();
  auto seconds = [](double s) {
    return s < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(s);
  };
  for (const Comparison& r : rows) {
    nlohmann::ordered_json model = {{"name", r.name},
                                    {"kind", r.kind},
                                    {"parameters", r.parameters},
                                    {"train_seconds", seconds(r.train_seconds)},
                                    {"processor_seconds", seconds(r.processor_seconds)}};
    if (of_images(r.kind))
      model.update({{"accuracy", r.accuracy}, {"milliseconds", r.milliseconds}});
    else
      model.update({{"perplexity", r.perplexity},
                    {"bleu", r.bleu},
                    {"exact_share", r.exact / 100},
                    {"milliseconds", r.milliseconds},
                    {"path_short", r.path_short},
                    {"path_long", r.path_long},
                    {"one_pass", r.one_pass}});
    models.push_back(std::move(model));
  }
  return {{"data", data}, {"beam", options.beam}, {"models", std::move(models)}};
}

// The rows that fill(i, row) makes, each in one process.
std::vector<Comparison> shared_rows(std::size_t count,
                                    FunctionRef<void(std::size_t, Comparison&)> fill) {
  const auto filled = shared_work(Processes::world(), static_cast<Index>(count), [&](Index i) {
    Comparison r;
    fill(static_cast<std::size_t>(i), r);
    return nlohmann::json(r);
  });
  return {filled.begin(), filled.end()};
}

void finish(const CompareArguments& a, const std::vector<Comparison>& rows,
            const std::string& data) {
  std::string table = of_images(rows[0].kind) ? image_comparison_table(rows, data)
                                              : comparison_table(rows, data, a.compare);
  if (a.json)
    print_json(comparison_json(rows, data, a.compare));
  else
    print(table);
  if (a.table.empty() || !Processes::world().first()) return;
  write_file_atomically(a.table, table);
  if (!a.json) say("\nwritten to " + a.table);
}

void run_compare(Command& command, CompareArguments& a) {
  namespace fs = std::filesystem;
  TrainOptions& o = a.options;
  if (!a.models.empty()) {
    if (!a.kinds.empty()) throw ValueError("--models", "are trained already: leave out --kinds");
    for (const Row& row : o.rows())
      if (const std::string name = dashed(row.key());
          name != "columns" && command.find(name) && command.given(name))
        throw ValueError("--models", "are trained already: leave out --" + name +
                                         (name == "pairs" ? ", or name --test-pairs" : ""));
    const Checkpoint checkpoint = load_checkpoint(a.models[0]);
    require_gives(checkpoint, {Gives::Translations}, "translate");
    const TrainOptions& first = checkpoint.options;
    ParallelCorpus test = test_corpus(a, first);
    if (a.test_pairs.empty() && a.test_source.empty() && first.task == "files")
      say("note: the test pairs were held out from " + a.models[0] +
          "; the other models may have learned from them. --test-pairs names others");
    const auto rows = shared_rows(a.models.size(), [&](std::size_t i, Comparison& row) {
      const std::string& path = a.models[i];
      // "m30k" for a folder, "m30k/best" for one of its files.
      fs::path location = path;
      row.name = location.filename().string();
      if (location.extension() == ".safetensors")
        row.name = (location.parent_path().filename() / location.stem()).string();
      if (row.name.empty()) row.name = path;
      measure_for_comparison(path, test, a.compare, row);
    });
    finish(a, rows, fmt::format("{}, {} test pairs", test.source_name, test.pairs.size()));
    return;
  }
  auto kinds = kinds_of(a);
  const bool images = of_images(kinds[0]);
  ParallelCorpus test;
  if (!images) test = test_corpus(a, options_of(command, a, kinds[0]));
  const Processes& world = Processes::world();
  std::forward_list<FolderLock>
      locks;  // of all folders, by the first process; made in turn, the last is undone first
  world.together([&] {
    for (const std::string& kind : kinds) {
      TrainOptions run = options_of(command, a, kind);
      check(run);
      if (!images) check_translation(run);
      if (!world.first()) continue;
      locks.emplace_front(run.out);
      if (!a.overwrite && !checkpoints_in(run.out).empty())
        throw FileError(
            run.out, "holds a model already: --overwrite replaces it, --out names another folder");
    }
  });
  const auto rows = shared_rows(kinds.size(), [&](std::size_t i, Comparison& row) {
    TrainOptions run = options_of(command, a, kinds[i]);
    row.name = kinds[i];
    std::error_code ignored;
    if (fs::exists(run.out, ignored))
      for (const fs::path& path : checkpoints_in(run.out)) fs::remove(path, ignored);
    train_for_comparison(run, images ? nullptr : &test, row);
    if (images)
      measure_images_for_comparison(run, row);
    else
      measure_for_comparison(run.out, test, a.compare, row);
  });
  if (images)
    return finish(a, rows,
                  fmt::format("{}{}, {} epochs of the same training images", o.images,
                              o.image_folder, o.epochs));
  finish(a, rows,
         fmt::format("{}, {} epochs of the same training pairs, {} test pairs",
                     o.task == "files" ? o.source + o.pairs : o.task, o.epochs, test.pairs.size()));
}

}  // namespace

Command compare_command() {
  Command c("compare", "train kinds of model on the same data with the same budget, as a table");
  c.shares_work = true;
  auto a = std::make_shared<CompareArguments>();
  a->options.out = "comparison";
  Option& kinds =
      c.option("kinds", &a->kinds, "kinds of model (without: all that translate; or vit,cnn)");
  kinds.delimiter = ',';
  const auto compared = kinds_that_give({Gives::Translations, Gives::ImageClass});
  for (const Kind* kind : compared) kinds.choices.push_back(kind->name);
  c.option("models", &a->models, "folders of trained models to compare instead").delimiter = ',';
  c.option("test-source", &a->test_source,
           "file of source sentences to test on (built-in tasks have their own; without: what is "
           "held out)");
  c.option("test-target", &a->test_reference, "file of their translations");
  c.option("test-pairs", &a->test_pairs, "both in one file, as in --pairs");
  c.option("table", &a->table, "also write the table to this file (Markdown)");
  c.option("beam", &a->compare.beam, "prefixes kept at each step; 1 is greedy", kBeam);
  c.option("tokenize", &a->compare.tokenize,
           "BLEU's tokenizer (auto: zh for Chinese references, else 13a)")
      .choices = kBleuTokenizers;
  c.option("timed", &a->compare.timed, "largest number of test sentences to time one by one",
           kPositive);
  c.option("config", &a->config, "file of options (TOML); the command line overrides them")
      .in_config = false;
  c.option("overwrite", &a->overwrite, "replace the models in --out").in_config = false;
  c.option("json", &a->json, "print one JSON object instead of the table").in_config = false;
  const std::size_t before = c.options.size();
  add_training_options(c, a->options, [&](const Row& row) {
    return row.key() != "kind" &&
           std::ranges::any_of(compared, [&](const Kind* kind) { return kind->has(row.key()); });
  });
  for (std::size_t i = before; i < c.options.size(); ++i) {
    Option& o = c.options[i];
    if (o.name == "out") o.help = "folder of the models, one folder each";
    o.kinds.clear();
    // Options that are not given are each kind's own, but for the budget, the data and the folder.
    if (!is_common(o.name) && o.name != "task" && o.name != "out") o.default_text = "";
  }
  for (const char* name : {"kinds", "models", "test-source", "test-target", "task", "source",
                           "target", "pairs", "epochs", "batch-tokens", "out"})
    c.find(name)->usual = true;
  c.footer =
      "Sizes and schedules that are not given are each kind's own: glim train --kind rnn --help";
  c.adjust = [a](Command& command) { adjust_compare(command, *a); };
  c.run = [a](Command& command) { run_compare(command, *a); };
  return c;
}

}  // namespace glim
