// glim train: from text to a model in a folder.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <set>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/matmul/plan.hpp"
#include "tensor/simd/isa.hpp"
#include "tensor/system/process.hpp"
#include "tools/cli/progress_printer.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/counted.hpp"
#include "tools/common/folder.hpp"
#include "tools/kinds/distil.hpp"
#include "tools/kinds/fingerprint.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/presets.hpp"
#include "tools/train/recorder.hpp"
#include "tools/train/same_run.hpp"
#include "tools/train/start.hpp"
#include "tools/train/trainer.hpp"
#include "tools/train/verdict.hpp"

namespace glim {
namespace {

constexpr Index kLongRun = 1000;  // updates, from which --record is worth a word

std::atomic<bool> interrupted{false};
void interrupt(int) { interrupted = true; }

struct TrainArguments {
  TrainOptions options;
  std::string config;
  bool resume = false, overwrite = false;
  Index profile = 0;
  std::string progress = "auto", matmul_precision;
  std::unique_ptr<Checkpoint> start;  // --init-from
  std::vector<std::string> notes;     // defaults that made room for what was given
};

// Options that are not given have the defaults of the kind and the task. A resumed run has its checkpoint's.
void adjust_train(Command& command, TrainArguments& a) {
  const Kind& kind = kind_named(a.options.kind);
  for (const std::string& key : kind.usual)
    if (Option* o = command.find(dashed(key))) o->usual = kind.has(key);
  command.choose_kind(a.options.kind);
  if (a.resume) return;
  auto is_set = [&](const std::string& name) { return command.given(name); };
  a.start = starting_model(a.options, is_set);
  command.choose_kind(a.options.kind);
  std::set<std::string> from_start;
  if (a.start)
    for (const Row& row : a.options.rows())
      if (start_of(row) != FromStart::Free) from_start.insert(dashed(row.key()));
  for (const std::string& name : from_start)
    if (!command.given(name)) command.find(name)->origin = "that of --init-from";
  a.notes = apply_preset(
      a.options, [&](const std::string& name) { return is_set(name) || from_start.contains(name); },
      [&](const std::string& name, const std::string& origin) {
        command.find(name)->origin = origin;
      });
  // A trained model is changed more gently than a fresh one.
  if (a.start && !command.given("rate") && !command.given("noam-factor")) {
    const bool known = a.options.rate > 0;
    a.options.rate = known ? 0.1 * a.options.rate : 1e-4;
    command.find("rate")->origin =
        known ? "a tenth of the usual, for --init-from" : "for --init-from";
  }
}

// Why a finished run ended, and the options with which it goes on.
std::string why_complete(const TrainOptions& o, const TrainState& s) {
  std::string flags;
  if (s.epoch >= o.epochs) flags += fmt::format(" --epochs {}", 2 * std::max(o.epochs, s.epoch));
  if (o.max_steps > 0 && s.step >= o.max_steps)
    flags += fmt::format(" --max-steps {}", 2 * std::max(o.max_steps, s.step));
  std::string why =
      fmt::format("epoch {} of {}, step {}{}", s.epoch + (s.epoch < o.epochs), o.epochs, s.step,
                  o.max_steps > 0 ? fmt::format(" of {}", o.max_steps) : "");
  if (flags.empty() && o.patience > 0 && s.bad_validations >= o.patience) {
    why += fmt::format(", {} validations without improvement", s.bad_validations);
    flags = fmt::format(" --patience {}", 2 * std::max(o.patience, s.bad_validations));
  } else if (flags.empty()) {
    why += fmt::format(", {} of the validation sentences right", o.enough);
    flags = " --enough 0";
  }
  return fmt::format("The run in {0} is complete: {1}. To go on: glim train --resume {2}{3}", o.out,
                     why, typed_option("out", o.out), flags);
}

// A warm-up as long as the run leaves nothing to learn at the full rate: it is shorter unless it was given.
void fit_warmup(const Command& command, TrainOptions& o, Learner& learner,
                std::vector<std::string>& notes) {
  Index updates = planned_updates(o, learner);
  if (o.schedule == "constant" || o.warmup < updates || o.warmup == 0) return;
  const std::string run = counted(updates, "update");
  if (command.given("warmup")) {
    notes.push_back(fmt::format(
        "--warmup {} is no shorter than the run of {}: the rate never falls from its peak",
        o.warmup, run));
    return;
  }
  const Index before = o.warmup;
  shorten_warmup(o, updates);
  notes.push_back(fmt::format("--warmup is {}, not {}: the run has {}", o.warmup, before, run));
}

// A resumed run goes on with the engine that it had, unless --gemm or GLIM_GEMM says another.
void resume_gemm_engine(const Command& command, const Checkpoint& checkpoint,
                        std::vector<std::string>& notes) {
  const GemmEngine before = gemm_engine_of(checkpoint);
  if (!command.given("gemm") && !std::getenv("GLIM_GEMM")) return use_gemm_engine(before);
  if (gemm_engine() != before)
    notes.push_back(fmt::format(
        "--gemm is {} from here on and was {}: a run with one of them has other weights",
        name_of(gemm_engine()), name_of(before)));
}

// A run before its first step.
struct Prepared {
  TrainOptions options;
  std::string last;                    // the checkpoint to resume from
  std::optional<FolderLock> lock;      // the first process's, as the next
  std::unique_ptr<Checkpoint> origin;  // what is there, resumed
  std::unique_ptr<Learner> learner;
  std::unique_ptr<Trainer> trainer;
};

// Products have the precision that was asked for, or that the run was started with.
void choose_matmul_precision(TrainArguments& a, const Prepared& run) {
  const MatmulPrecision before =
      run.origin ? matmul_precision_of(*run.origin) : MatmulPrecision::Highest;
  const MatmulPrecision precision =
      a.matmul_precision.empty() ? before : matmul_precision_of(a.matmul_precision);
  if (precision == MatmulPrecision::Medium && run.options.precision == "float64")
    throw ValueError("--matmul-precision",
                     "medium rounds products of float32; --precision is float64");
  if (precision == MatmulPrecision::Medium && run.options.record_curvature)
    throw ValueError("--record-curvature",
                     "needs --matmul-precision highest: medium rounds second derivatives away");
  set_float32_matmul_precision(precision);
  if (run.origin && precision != before)
    a.notes.push_back(fmt::format("--matmul-precision is {} from here on and was {}",
                                  name_of(precision), name_of(before)));
  if (precision == MatmulPrecision::Medium && amx() == Amx::Refused)
    a.notes.push_back(
        "this CPU has AMX and the system refuses it: --matmul-precision medium takes longer");
}

// Sets the options of the run, and checks that its folder is free.
void prepare_options(Command& command, TrainArguments& a, Prepared& run) {
  const Processes& world = Processes::world();
  TrainOptions& o = run.options = a.options;
  if (o.out.empty()) throw ValueError("--out", "needs a folder");
  const std::string& last = run.last = in_folder(o.out, kLastFile);
  if (world.first()) run.lock.emplace(o.out);  // before anything in the folder is looked at
  if (a.resume) {
    if (!is_there(last))
      throw FileError(last, "there is no checkpoint to resume from: leave --resume out");
    run.origin = std::make_unique<Checkpoint>(load_checkpoint(last));
    TrainOptions saved = run.origin->options;
    saved.out = o.out;
    if (!command.given("kind")) o.kind = saved.kind;
    // An option of the command line must be as the run was started with, or be free to change.
    for (const Row& row : o.rows()) {
      const std::string name = dashed(row.key());
      if (!command.given(name) || stored(row) == saved.value(row.key())) continue;
      if (!row.resumes)
        throw ValueError("--" + name, "cannot change when a run is resumed (" + last + ")");
      saved.set(row.key(), stored(row));
    }
    o = saved;
    resume_gemm_engine(command, *run.origin, a.notes);
  } else {
    // A run that was killed before its first last.safetensors may be started again over its files.
    if (is_there(last) && !a.overwrite)
      throw FileError(o.out,
                      "holds a model already: --resume continues it, --overwrite "
                      "replaces it, --out names another folder");
  }
  check(o);
  choose_matmul_precision(a, run);
  require_shares(world, o);
}

// Its data, its model, and where it goes on.
void prepare_learner(Command& command, TrainArguments& a, Prepared& run) {
  const Processes& world = Processes::world();
  TrainOptions& o = run.options;
  const std::unique_ptr<Checkpoint> origin = std::move(run.origin);
  run.learner = make_learner(o, a.start ? a.start.get() : origin.get());
  o = run.learner->options();
  if (a.start) load(run.learner->model(), a.start->weights, a.start->file);
  if (!a.resume) fit_warmup(command, o, *run.learner, a.notes);
  if (world.first()) make_folder(o.out);
  if (origin) origin->config_toml = o.to_toml();
  run.trainer = origin ? std::make_unique<Trainer>(o, *run.learner, std::move(*origin), world)
                       : std::make_unique<Trainer>(o, *run.learner, o.to_toml(), world);
}

void prepare(Command& command, TrainArguments& a, Prepared& run) {
  const Processes& world = Processes::world();
  world.together([&] { prepare_options(command, a, run); });
  const TrainOptions& o = run.options;
  const bool distils =
      world.any(!o.teacher.empty() && (!a.resume || !std::filesystem::exists(distilled_file(o))));
  if (distils) {
    require_same_options(world, o, true);
    distil(o, world);
  }
  world.together([&] { prepare_learner(command, a, run); });
  // After the readers, who say better what is wrong with a file.
  require_same_options(world, o, distils);
  require_same_weights(world, *run.learner, run.trainer->state());
}

void announce(const Command& command, const TrainArguments& a, const Prepared& run) {
  const Processes& world = Processes::world();
  const TrainOptions& o = run.options;
  const Index parameters = run.learner->model().parameter_count();
  for (const std::string& line : run.learner->summary()) say(line);
  if (o.task != "files" && kind_named(o.kind).has("text") && !command.given("task") && !a.resume)
    say("note: without --text FILE the text is that of --task " + o.task);
  if (a.start) say("weights, vocabulary and sizes are those of " + a.start->file);
  for (const std::string& note : a.notes) say("note: " + note);
  say(fmt::format(
      "model: {} parameters; {} updates planned, {} (--patience {})", parameters,
      run.trainer->total_steps(),
      o.patience > 0 ? "fewer if validations bring no improvement" : "without an early stop",
      o.patience));
  say("schedule: " + run.trainer->schedule().describe());
  if (!o.record && run.trainer->total_steps() >= kLongRun)
    say("note: --record would keep each module's gradient and each head's entropy, for glim "
        "report");
  if (world.size() > 1)
    say(
        fmt::format("processes: {}, {} of the {} parts of a batch each; {:.3g} MB sent and "
                    "received by each in an update",
                    world.size(), o.shards / world.size(), o.shards,
                    world.bytes_of_sum(parameters * (o.precision == "float64" ? 8 : 4)) / 1e6));
}

// Trains. The first process attaches the observers. Returns false if the run was interrupted.
bool train(const TrainArguments& a, Prepared& run) {
  std::unique_ptr<TrainObserver> recorder;
  std::optional<ProgressPrinter> printer;
  std::optional<Profile> profile;
  TrainObservers observers;
  if (Processes::world().first()) {
    recorder = recorder_of(*run.trainer);  // first: a refusal leaves an earlier run's metrics alone
    printer.emplace(*run.trainer, progress_mode(a.progress, 2));
    if (a.profile > 0)
      observers.push_back(
          &profile.emplace(a.profile, [&](const Profile& measured) { printer->show(measured); }));
    observers.push_back(&*printer);
    if (recorder) observers.push_back(recorder.get());
  }
  const bool done = run.trainer->run(observers, interrupted);
  if (printer) printer->end();
  if (done && profile && !profile->complete())
    say(
        fmt::format("note: --profile {} wrote nothing: it leaves out the first 3 updates, and the "
                    "run ended before that many more",
                    a.profile));
  return done;
}

// Evaluates the best weights on held-out data, and prints the outcome of the run.
void conclude(const Prepared& run) {
  const TrainOptions& o = run.options;
  Learner& learner = *run.learner;
  const TrainState& state = run.trainer->state();
  if (!quiet() && o.patience > 0 && state.bad_validations >= o.patience)
    print_line(fmt::format(
        "stopped: none of the last {} validations was better than that after {} updates "
        "(--patience {})",
        state.bad_validations, state.best_step, o.patience));
  if (const Index last = std::min(o.average, state.epoch);
      !quiet() && run.trainer->averaged() < last)
    print_line(fmt::format("average: of {}, not {}: the weights of the others were not kept",
                           counted(run.trainer->averaged(), "epoch"), last));
  const std::string hash = weights_hash(learner.model().named_parameters());
  if (!quiet()) print(learner.demonstrate(o.out));
  learner.model().load_state_dict(read_model(o.out).weights);
  const Measures held_out = measure_validation(learner);
  if (!quiet() && held_out.tokens > 0)
    print_line("on held-out data: " + learner.describe(held_out));
  if (std::string line = not_learned(learner, o, state, run.trainer->schedule().peak(), held_out);
      !line.empty())
    print_line(line);
  if (quiet()) return;
  print_line("Model saved to " + visible(model_file(o.out)));
  // The weights after the last step, not the best ones: a run on another machine is held against these.
  print_line(fmt::format("weights after {} updates: {}", state.step, hash));
  if (o.record) print_line("To see what happened inside: glim report " + typed_word(o.out));
}

void run_train(Command& command, TrainArguments& a) {
  Prepared run;
  prepare(command, a, run);
  const TrainOptions& o = run.options;
  if (run.trainer->state().finished) return say(why_complete(o, run.trainer->state()));
  const bool first = Processes::world().first();
  on_interrupt(interrupt);
  if (first) write_file_atomically(in_folder(o.out, "config.toml"), o.to_toml());
  announce(command, a, run);
  const bool done = train(a, run);
  on_interrupt(nullptr);  // everything is saved
  if (!done) {
    say("interrupted: saved to " + run.last + "; to go on: glim train --resume " +
        typed_option("out", o.out));
    throw Exit(130);
  }
  if (first) conclude(run);
}

}  // namespace

Command train_command() {
  Command c("train", "train a model on a built-in task or on text files");
  c.shares_work = true;
  auto a = std::make_shared<TrainArguments>();
  c.option("config", &a->config, "file of options (TOML); the command line overrides them")
      .in_config = false;
  add_training_options(c, a->options);
  Option& progress =
      c.option("progress", &a->progress, "how progress is shown (auto: a bar on a terminal)");
  progress.choices = {"auto", "bar", "lines", "none"};
  progress.in_config = false;
  Option& precision = c.option("matmul-precision", &a->matmul_precision,
                               "operands of float32 products: as they are, or as bfloat16");
  precision.choices = {"highest", "medium"};
  precision.default_text = "highest";
  c.option("profile", &a->profile,
           "measure this many updates, by op and module; OUT/trace.json has a timeline", kCount)
      .in_config = false;
  c.option("resume", &a->resume, "continue from the last checkpoint in --out").in_config = false;
  c.option("overwrite", &a->overwrite, "replace the model in --out").in_config = false;
  c.adjust = [a](Command& command) { adjust_train(command, *a); };
  c.run = [a](Command& command) { run_train(command, *a); };
  return c;
}

}  // namespace glim
