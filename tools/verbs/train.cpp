// glim train: from text to a model in a folder.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <unistd.h>

#include "tensor/atomic_file.hpp"
#include "tensor/error.hpp"
#include "tools/cli/picture.hpp"
#include "tools/cli/progress.hpp"
#include "tools/cli/terminal.hpp"
#include "tools/train/metrics.hpp"
#include "tools/train/trainer.hpp"
#include "tools/train/translator.hpp"
#include "tools/verbs/verbs.hpp"

namespace glim {
namespace {

std::atomic<bool> interrupted{false};
extern "C" void interrupt(int) { interrupted = true; }

// The options that a resumed run may change: none has a part in the updates done so far.
const std::vector<std::string> kMayChange = {"epochs",     "max-steps", "patience", "valid-every",
                                             "save-every", "log-every", "average",  "out"};

struct Arguments {
  TrainOptions options;
  std::string config;
  bool resume = false, overwrite = false;
  std::string progress = "auto";
  std::vector<std::pair<CLI::Option*, std::string>> given;  // every option with its name
};

// What a task trains well with on two cores, unless the user says otherwise.
void apply_preset(CLI::App& verb, TrainOptions& o) {
  auto unless_given = [&](const char* name, auto& field, auto value) {
    if (verb.get_option(std::string("--") + name)->count() == 0) field = value;
  };
  if (o.task == "phrasebook") {
    if (verb.get_option("--target-tokenizer")->count() == 0) o.target_tokenizer = "char";
    unless_given("layers", o.layers, 2);
    unless_given("d-model", o.d_model, 128);
    unless_given("heads", o.heads, 4);
    unless_given("d-ff", o.d_ff, 256);
    unless_given("norm", o.norm, "pre");
    unless_given("epochs", o.epochs, 48);
    unless_given("batch-tokens", o.batch_tokens, 1024);
    unless_given("schedule", o.schedule, "cosine");
    unless_given("rate", o.rate, 2e-3);
    unless_given("warmup", o.warmup, 300);
    unless_given("average", o.average, 5);
  } else if (o.task == "copy" || o.task == "reverse") {
    unless_given("layers", o.layers, 2);
    unless_given("d-model", o.d_model, 64);
    unless_given("heads", o.heads, 4);
    unless_given("d-ff", o.d_ff, 128);
    unless_given("norm", o.norm, "pre");
    unless_given("label-smoothing", o.label_smoothing, 0.0);
    unless_given("batch-tokens", o.batch_tokens, 0);
    unless_given("batch-sentences", o.batch_sentences, 40);
    unless_given("warmup", o.warmup, 150);
  } else if (o.task == "random") {  // the tutorials' sizes: 64 pairs of 100 tokens by heart
    unless_given("layers", o.layers, 6);
    unless_given("d-model", o.d_model, 512);
    unless_given("heads", o.heads, 8);
    unless_given("d-ff", o.d_ff, 2048);
    unless_given("label-smoothing", o.label_smoothing, 0.0);
    unless_given("batch-tokens", o.batch_tokens, 0);
    unless_given("batch-sentences", o.batch_sentences, 64);
    unless_given("schedule", o.schedule, "constant");
    unless_given("rate", o.rate, 1e-4);
    unless_given("epochs", o.epochs, 100);
  }
}

// Progress to standard error, measurements to the model's folder.
class Console final : public TrainObserver {
 public:
  Console(const TrainOptions& o, Index total_steps, Metrics& metrics, Progress& progress,
          std::vector<std::filesystem::path> stale)
      : o_(o),
        total_(total_steps),
        metrics_(metrics),
        progress_(progress),
        stale_(std::move(stale)) {}

  void stepped(const StepReport& r) override {
    window_.kl += r.loss.kl * static_cast<double>(r.loss.tokens);
    window_.smoothed_ce += r.loss.smoothed_ce * static_cast<double>(r.loss.tokens);
    window_.nll += r.loss.nll * static_cast<double>(r.loss.tokens);
    window_.tokens += r.loss.tokens;
    seconds_ += r.seconds;
    ++steps_;
    auto n = static_cast<double>(std::max<Index>(window_.tokens, 1));
    Measures mean{window_.kl / n, window_.smoothed_ce / n, window_.nll / n, window_.tokens};
    double speed = n / std::max(seconds_, 1e-9);
    ProgressState p;
    p.step = r.step;
    p.steps = total_;
    p.epoch = r.epoch;
    p.epochs = o_.epochs;
    p.loss = mean.kl;
    p.perplexity = mean.perplexity();
    p.tokens_per_second = speed;
    p.rate = r.rate;
    p.seconds_left = static_cast<double>(total_ - r.step) * seconds_ / steps_;
    progress_.show(p);
    if (r.step % o_.log_every != 0) return;
    metrics_.train(r, mean, speed);
    progress_.log(p);
    window_ = {};
    seconds_ = steps_ = 0;
  }
  void validated(const ValidationReport& r) override {
    metrics_.valid(r);
    std::string valid =
        r.valid.tokens
            ? fmt::format("  valid: KL {:.4f}  CE {:.4f}  NLL {:.4f}  perplexity {:.3f}{}",
                          r.valid.kl, r.valid.smoothed_ce, r.valid.nll, r.valid.perplexity(),
                          r.improved ? "  best" : "")
            : "";
    progress_.say(fmt::format("epoch {:3d}  step {:6d}  {:.1f} s  train: KL {:.4f}  NLL {:.4f}{}",
                              r.epoch, r.step, r.seconds, r.train.kl, r.train.nll, valid));
  }
  void saved(const std::string& file) override {
    for (const std::filesystem::path& old : stale_)
      if (old.filename() != std::filesystem::path(file).filename()) std::filesystem::remove(old);
    stale_.clear();
  }

 private:
  const TrainOptions& o_;
  Index total_;
  Metrics& metrics_;
  Progress& progress_;
  std::vector<std::filesystem::path> stale_;
  Measures window_;  // sums since the last line
  double seconds_ = 0, steps_ = 0;
};

// Rows: target tokens; columns: source tokens, mean of the last decoder layer's heads.
void show_attention(Translator& translator, const ParallelCorpus& test) {
  const std::string* sentence = &test.pairs.front().source;
  for (const SentencePair& p : test.pairs)  // long enough to show something, short enough to fit
    if (p.source.size() <= 40 && p.source.size() > sentence->size()) sentence = &p.source;
  TranslateOptions options;
  options.alignments = true;
  Translation t = translator.translate({*sentence}, options)[0][0];
  bool unicode = shows_unicode(STDOUT_FILENO);
  print_line(fmt::format("\nattention of \"{}\" (rows) to \"{}\" (columns):\n", t.text, *sentence));
  print(matrix_picture(t.attention, t.target_pieces, t.source_pieces,
                       {std::min(terminal_columns(STDOUT_FILENO), 120), unicode}));
  print_line("\n" + shade_legend(unicode) + "\n");
}

void show_test(Trainer& trainer, const Dataset& data, const TrainOptions& o) {
  LoadedModel best = load_model(o.out);
  (void)trainer;
  Translator translator(*best.model, data.tokenizers);
  TranslateOptions t;
  auto found = translator.translate(data.test.source_sentences(), t);
  std::size_t exact = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    exact += found[i][0].text == data.test.pairs[i].target;
  print_line("\nheld-out sentences, never seen in training:");
  std::size_t step = std::max<std::size_t>(1, found.size() / 8);
  for (std::size_t i = 0; i < found.size(); i += step) {
    bool same = found[i][0].text == data.test.pairs[i].target;
    print_line(fmt::format("  {}\n    {} {}{}", data.test.pairs[i].source, same ? "=" : "≠",
                           found[i][0].text,
                           same ? "" : "   reference: " + data.test.pairs[i].target));
  }
  print_line(fmt::format("exact match: {} of {} = {:.2f} %", exact, found.size(),
                         100.0 * static_cast<double>(exact) / static_cast<double>(found.size())));
  show_attention(translator, data.test);
}

void run(CLI::App& verb, Arguments& a) {
  namespace fs = std::filesystem;
  if (!a.config.empty()) apply_config(verb, a.config);
  TrainOptions o = a.options;
  if (verb.get_option("--source")->count() && verb.get_option("--task")->count() == 0)
    o.task = "files";
  std::string last = (fs::path(o.out) / "last.safetensors").string();
  std::unique_ptr<Checkpoint> from;
  if (a.resume) {
    if (!fs::exists(last)) throw FileError(last, "there is no checkpoint to resume from");
    from = std::make_unique<Checkpoint>(load_checkpoint(last));
    TrainOptions saved = from->options;
    saved.out = o.out;
    // What the command line says must be what the run was started with, or be free to change.
    for (auto& [option, name] : a.given) {
      if (option->count() == 0) continue;
      TrainOptions changed = saved;
      for (const std::string& d : differences(saved, o))
        if (d == name && std::find(kMayChange.begin(), kMayChange.end(), name) == kMayChange.end())
          throw ValueError("--" + name, "cannot change when a run is resumed (" + last + ")");
    }
    auto keep = [&](const char* name, auto& field, const auto& given) {
      if (verb.get_option(std::string("--") + name)->count()) field = given;
    };
    keep("epochs", saved.epochs, o.epochs);
    keep("max-steps", saved.max_steps, o.max_steps);
    keep("patience", saved.patience, o.patience);
    keep("valid-every", saved.valid_every, o.valid_every);
    keep("save-every", saved.save_every, o.save_every);
    keep("log-every", saved.log_every, o.log_every);
    keep("average", saved.average, o.average);
    o = saved;
  } else {
    apply_preset(verb, o);
    if (fs::exists(last) && !a.overwrite)
      throw FileError(o.out,
                      "holds a model already: --resume goes on with it, --overwrite "
                      "replaces it, --out names another folder");
  }
  check(o);
  Dataset data = load_dataset(o, from ? &from->tokenizers : nullptr);
  std::error_code error;
  fs::create_directories(o.out, error);
  if (error) throw FileError(o.out, error.message());
  // What an earlier run left would be taken for this one's; it goes when this one has a checkpoint.
  std::vector<fs::path> stale;
  if (!a.resume)
    for (const auto& entry : fs::directory_iterator(o.out))
      if (entry.path().extension() == ".safetensors") stale.push_back(entry.path());

  std::string toml = o.to_toml();
  std::unique_ptr<Trainer> trainer = from ? std::make_unique<Trainer>(o, data, std::move(*from))
                                          : std::make_unique<Trainer>(o, data, toml);
  write_file_atomically((fs::path(o.out) / "config.toml").string(), toml);

  print_line(
      fmt::format("data: {} training pairs, {} validation; {} source and {} target tokens in "
                  "the vocabularies",
                  data.train_tokens.pairs.size(), data.valid_tokens.pairs.size(),
                  data.tokenizers.source->size(), data.tokenizers.target->size()));
  if (data.train.blank)
    print_line(fmt::format("  {} pairs with a blank side left out, the first in line {}",
                           data.train.blank, data.train.first_blank));
  if (data.train_tokens.too_long)
    print_line(fmt::format("  {} pairs longer than --max-length left out, the first: {}",
                           data.train_tokens.too_long, data.train_tokens.first_too_long));
  print_line(fmt::format("model: {} parameters; {} updates at most",
                         trainer->model().parameter_count(), trainer->total_steps()));
  print_line("schedule: " + trainer->schedule().describe());

  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  Progress progress(progress_mode(a.progress, STDERR_FILENO), STDERR_FILENO);
  Metrics metrics((fs::path(o.out) / "metrics.jsonl").string(), trainer->state().step);
  Console console(o, trainer->total_steps(), metrics, progress, stale);
  bool done = trainer->run(console, interrupted);
  progress.end();
  if (!done) {
    print_line("interrupted; " + last + " holds the run: glim train --resume --out " + o.out);
    throw Exit(130);
  }
  if (!data.test.pairs.empty() && o.task != "random") show_test(*trainer, data, o);
  print_line("the model lies in " + o.out + " (" + model_file(o.out) + ")");
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("train", "train a model on a built-in task or on text files");
  auto a = std::make_shared<Arguments>();
  TrainOptions& o = a->options;
  auto add = [&](const char* name, auto& field, const char* help) {
    CLI::Option* option = verb->add_option(std::string("--") + name, field, help);
    option->capture_default_str();
    a->given.emplace_back(option, name);
    return option;
  };
  verb->add_option("--config", a->config, "options from a TOML file; those given here come first")
      ->configurable(false);
  verb->option_defaults()->group("Data");
  add("task", o.task, "phrasebook, copy, reverse, random, or files");
  add("source", o.source, "file of source sentences, one a line");
  add("target", o.target, "file of target sentences");
  add("valid-source", o.valid_source, "file of source sentences to validate on");
  add("valid-target", o.valid_target, "file of target sentences to validate on");
  add("tokenizer", o.tokenizer, "word, char, sentencepiece-bpe, sentencepiece-unigram");
  add("target-tokenizer", o.target_tokenizer, "of the target side, if another");
  a->given.emplace_back(
      verb->add_flag("--shared-vocabulary", o.shared_vocabulary, "one vocabulary for both sides"),
      "shared-vocabulary");
  add("vocabulary", o.vocabulary, "most tokens in a vocabulary (0: all; 8,000 with sentencepiece)");
  add("min-frequency", o.min_frequency, "least occurrences of a word or character");
  add("max-length", o.max_length, "longest sentence, in tokens; longer pairs are left out");
  add("examples", o.examples, "pairs that copy and reverse generate");
  verb->option_defaults()->group("Model");
  add("layers", o.layers, "encoder layers");
  add("decoder-layers", o.decoder_layers, "decoder layers (0: as --layers)");
  add("d-model", o.d_model, "width D");
  add("heads", o.heads, "attention heads H; must divide D");
  add("d-ff", o.d_ff, "width of the feed-forward layers");
  add("dropout", o.dropout, "dropout probability");
  add("norm", o.norm, "pre or post");
  add("activation", o.activation, "relu, gelu or silu");
  add("tie", o.tie, "weights shared by embeddings and generator: none, decoder or all");
  add("positions", o.positions, "sinusoidal or learned");
  verb->option_defaults()->group("Training");
  add("epochs", o.epochs, "passes over the training pairs");
  add("max-steps", o.max_steps, "most updates (0: no limit)");
  add("batch-tokens", o.batch_tokens, "most padded tokens of a batch (0: no limit)");
  add("batch-sentences", o.batch_sentences, "most pairs of a batch (0: no limit)");
  add("accumulate", o.accumulate, "batches joined to one update");
  add("label-smoothing", o.label_smoothing, "ε: probability given to the other tokens");
  add("optimizer", o.optimizer, "adam, adamw or sgd");
  add("beta1", o.beta1, "Adam's β₁");
  add("beta2", o.beta2, "Adam's β₂");
  add("epsilon", o.epsilon, "Adam's ε");
  add("weight-decay", o.weight_decay, "L2 penalty (adamw: decoupled decay)");
  add("momentum", o.momentum, "of sgd");
  add("schedule", o.schedule, "noam, inverse-sqrt, cosine or constant");
  add("rate", o.rate, "peak learning rate; noam: its factor (0: 5e-4; noam 1)");
  add("warmup", o.warmup, "steps of warm-up");
  add("clip", o.clip, "largest global norm of the gradient (0: no limit)");
  add("seed", o.seed, "of the initial weights, the order of batches and dropout");
  add("precision", o.precision, "float32 or float64");
  verb->option_defaults()->group("Run");
  add("patience", o.patience, "validations without improvement before stopping (0: never)");
  add("valid-every", o.valid_every, "steps between validations (0: each epoch)");
  add("save-every", o.save_every, "steps between checkpoints (0: at each validation)");
  add("log-every", o.log_every, "steps between lines of the log");
  add("average", o.average, "last epochs whose weights are averaged in the end (0: none)");
  add("out", o.out, "folder of the model");
  verb->add_option("--progress", a->progress, "auto (a bar on a terminal), bar, lines or none")
      ->check(CLI::IsMember({"auto", "bar", "lines", "none"}))
      ->capture_default_str()
      ->configurable(false);
  verb->add_flag("--resume", a->resume, "go on from the last checkpoint in --out")
      ->configurable(false);
  verb->add_flag("--overwrite", a->overwrite, "replace the model in --out")->configurable(false);
  verb->callback([verb, a] { run(*verb, *a); });
}

}  // namespace glim
