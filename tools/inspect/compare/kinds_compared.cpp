#include "tools/inspect/compare/kinds_compared.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

#include "models/pipeline/described.hpp"
#include "models/tokenizers/by_vocabulary.hpp"
#include "tensor/clock.hpp"
#include "tensor/system/process.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/common/output.hpp"
#include "tools/data/bleu/bleu.hpp"
#include "tools/inspect/compare/dependency_path.hpp"
#include "tools/kinds/distil.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/pairs.hpp"
#include "tools/train/recorder.hpp"
#include "tools/train/trainer.hpp"

namespace glim {
namespace {

constexpr Index kShort = 10, kLong = 40;

class Epochs final : public TrainObserver {
 public:
  Epochs(std::string name, const Learner& learner) : name_(std::move(name)), learner_(learner) {}
  void validated(const ValidationReport& r) override {
    if (quiet()) return;
    std::fputs(fmt::format("{}: epoch {} of {}, step {}, {:.0f} s, validation {}\n", name_, r.epoch,
                           learner_.options().epochs, r.step, r.seconds,
                           kind_named(learner_.kind()).gives() == Gives::Translations
                               ? fmt::format("perplexity {:.3f}", r.valid.perplexity())
                               : fmt::format("accuracy {:.4f}", r.valid.accuracy()))
                   .c_str(),
               stderr);
  }

 private:
  std::string name_;
  const Learner& learner_;
};

// Characters with a space between them, where these are the target's tokens.
std::vector<std::string> for_bleu(std::vector<std::string> lines, const Tokenizer& target,
                                  BleuOptions& options) {
  const auto* t = dynamic_cast<const VocabularyTokenizer*>(&target);
  if (!t || t->kind() == "word") return lines;
  options.tokenizer = BleuTokenizer::none;
  for (std::string& line : lines) line = fmt::format("{}", fmt::join(t->tokens(line), " "));
  return lines;
}

// In the order of the kinds, not of the rows.
std::string remarks_on(const std::vector<Comparison>& rows) {
  std::string text;
  for (const Kind* kind : kinds())
    if (std::ranges::any_of(rows, [&](const Comparison& r) { return r.kind == kind->name; }))
      text += fmt::format("- {}: {}\n", kind->name, kind->compared);
  return text;
}

std::string seconds(double s) { return s < 0 ? "–" : fmt::format("{:.0f} s", s); }

}  // namespace

void train_for_comparison(const TrainOptions& o, const ParallelCorpus* test, Comparison& row) {
  if (!o.teacher.empty()) distil(o);
  std::unique_ptr<Learner> learner = make_learner(o);
  if (test) dynamic_cast<TranslationLearner&>(*learner).require_fits(*test);
  make_folder(o.out);
  Trainer trainer(learner->options(), *learner, learner->options().to_toml());
  const std::unique_ptr<TrainObserver> recorder = recorder_of(trainer);
  Epochs observer(row.name, *learner);
  std::atomic<bool> never{false};
  double wall = seconds_now(), cpu = processor_seconds();
  TrainObservers observers{&observer};
  if (recorder) observers.push_back(recorder.get());
  trainer.run(observers, never);
  row.train_seconds = seconds_now() - wall;
  row.processor_seconds = processor_seconds() - cpu;
}

void measure_for_comparison(const std::string& path, const ParallelCorpus& test,
                            const CompareOptions& options, Comparison& row) {
  const Checkpoint checkpoint = load_checkpoint(path);
  const Translator translator(checkpoint);
  SequenceModel& model = *translator.model();
  row.kind = checkpoint.kind;
  row.one_pass = kind_named(row.kind).one_pass;
  row.parameters = model.parameter_count();
  auto sources = test.source_sentences(), references = test.target_sentences();
  TranslationLearner learner(checkpoint.options, translator, test);
  row.perplexity = measure_validation(learner).perplexity();

  const Tokenizer& target = *translator.tokenizers().target;
  TranslateOptions t;
  t.beam = options.beam;
  std::vector<std::string> texts;
  for (auto& list : translator.translate(sources, t)) texts.push_back(list[0].text);
  row.exact = 100.0 * static_cast<double>(count_same(texts, references)) /
              static_cast<double>(texts.size());
  BleuOptions b;
  b.tokenizer = parse_bleu_tokenizer(options.tokenize);
  auto hypotheses = for_bleu(texts, target, b);
  row.bleu = corpus_bleu(hypotheses, for_bleu(references, target, b), b).score;

  t.batch = 1;
  std::vector<double> times;
  auto count = std::min(sources.size(), static_cast<std::size_t>(options.timed));
  for (std::size_t i = 0; i < count; ++i) {
    double start = seconds_now();
    translator.translate({sources[i]}, t);
    times.push_back(1000 * (seconds_now() - start));
  }
  std::nth_element(times.begin(), times.begin() + std::ssize(times) / 2, times.end());
  row.milliseconds = times[times.size() / 2];
  Index longest = std::min(model.max_len(), kLong);
  row.path_short = dependency_path(model, std::min(longest, kShort));
  row.path_long = dependency_path(model, longest);
}

void measure_images_for_comparison(const TrainOptions& o, Comparison& row) {
  const Checkpoint trained = load_checkpoint(o.out);
  const std::unique_ptr<Learner> learner = make_learner(o, &trained);
  load_weights(learner->model(), trained);
  row.kind = trained.kind;
  row.parameters = learner->model().parameter_count();
  const double start = seconds_now();
  const Measures held_out = measure_validation(*learner);
  if (held_out.tokens == 0)
    throw ValueError("--valid-last", "images to compare the models on are needed");
  row.milliseconds = 1000 * (seconds_now() - start) / static_cast<double>(held_out.tokens);
  row.accuracy = held_out.accuracy();
}

std::string image_comparison_table(const std::vector<Comparison>& rows, const std::string& data) {
  std::string text =
      in_markdown(data) +
      "; the images that are held out also chose the checkpoint.\n\n"
      "| model | parameters | training | processor time | accuracy | time an image |\n"
      "|---|---|---|---|---|---|\n";
  for (const Comparison& r : rows)
    text += fmt::format("| {} | {} | {} | {} | {:.2f} % | {:.2f} ms |\n", in_markdown(r.name),
                        r.parameters, seconds(r.train_seconds), seconds(r.processor_seconds),
                        100 * r.accuracy, r.milliseconds);
  return text + "\n" + remarks_on(rows);
}

std::string comparison_table(const std::vector<Comparison>& rows, const std::string& data,
                             const CompareOptions& o) {
  std::string text = fmt::format(
      "{}; {}; time per sentence: median of sentences translated alone.\n\n"
      "| model | parameters | training | processor time | test perplexity | BLEU | exact | time a "
      "sentence | path at {} / {} tokens | decoder passes |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      in_markdown(data), o.beam == 1 ? "greedy" : fmt::format("beam {}", o.beam), kShort, kLong);
  for (const Comparison& r : rows)
    text += fmt::format(
        "| {} | {} | {} | {} | {:.3f} | {:.1f} | {:.1f} % | {:.1f} ms | {} / {} | {} |\n",
        in_markdown(r.name), r.parameters, seconds(r.train_seconds), seconds(r.processor_seconds),
        r.perplexity, r.bleu, r.exact, r.milliseconds, r.path_short, r.path_long,
        r.one_pass ? "1" : "n");
  return text + "\n" + remarks_on(rows);
}

}  // namespace glim
