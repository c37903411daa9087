#include "tools/train/trainer.hpp"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>

#include "autograd/observe/finite.hpp"
#include "autograd/op_form.hpp"
#include "optim/adam.hpp"
#include "optim/averaging.hpp"
#include "optim/clip.hpp"
#include "optim/sgd.hpp"
#include "tensor/clock.hpp"
#include "tensor/interrupt.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"
#include "tools/common/toml.hpp"

namespace glim {
namespace {

std::string in_folder(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

std::unique_ptr<Optimizer> make_optimizer(const TrainOptions& o, const Module& model) {
  auto parameters = model.named_parameters();
  if (o.optimizer == "sgd") {
    SgdOptions s;
    s.momentum = o.momentum;
    s.weight_decay = o.weight_decay;
    return std::make_unique<Sgd>(parameters, s);
  }
  AdamOptions a;
  a.beta1 = o.beta1;
  a.beta2 = o.beta2;
  a.eps = o.epsilon;
  a.weight_decay = o.weight_decay;
  a.decay_matrices_only = o.optimizer == "adamw";
  if (o.optimizer == "adamw") return std::make_unique<AdamW>(parameters, a);
  return std::make_unique<Adam>(parameters, a);
}

// NonFiniteError at the first output or gradient that is not finite.
class FiniteChecks final : public TrainObserver {
 public:
  void tape_begins(Tape& tape) override { check_.emplace(tape); }
  void tape_ends(Tape&) override { check_.reset(); }

 private:
  std::optional<FiniteCheck> check_;
};

}  // namespace

void draw_as(const TrainState& state, Index shard) {
  // Shards have the same streams under seeds of their own, 2^64 / golden ratio apart.
  generator().set_state(static_cast<std::uint64_t>(state.seed) +
                            static_cast<std::uint64_t>(shard) * 0x9e3779b97f4a7c15u,
                        static_cast<std::uint64_t>(state.stream));
}

Index planned_updates(const TrainOptions& o, Learner& learner) {
  // Batches differ in number a little from epoch to epoch; the first epoch's number is used for all.
  Index per_epoch = learner.begin(Split::Train, 0);
  Index updates = (per_epoch + o.accumulate - 1) / o.accumulate;
  Index all = updates * std::min(o.epochs, (Index{1} << 53) / std::max<Index>(updates, 1));
  return o.max_steps > 0 ? std::min(all, o.max_steps) : all;
}

Trainer::Trainer(const TrainOptions& options, Learner& learner, std::string config_toml,
                 const Processes& processes)
    : options_(options),
      learner_(learner),
      config_toml_(std::move(config_toml)),
      optimizer_(make_optimizer(options, learner.model())),
      total_steps_(planned_updates(options, learner)),
      schedule_(make_schedule(options, total_steps_)),
      shards_(learner.model().named_parameters(), options.shards, processes) {
  state_.seed = options.seed;
  state_.stream = static_cast<Index>(generator().stream());
  state_.data = learner.fingerprint();
}

GemmEngine gemm_engine_of(const Checkpoint& c) {
  GemmEngine engine = GemmEngine::Builtin;
  for (const auto& [name, value] : read_toml(c.config_toml, "the checkpoint's configuration"))
    if (name == "gemm") engine = choose_gemm_engine(value.c_str());
  return engine;
}

Trainer::Trainer(const TrainOptions& options, Learner& learner, Checkpoint from,
                 const Processes& processes)
    : Trainer(options, learner, std::move(from.config_toml), processes) {
  state_ = from.state;
  saved_last_ = true;
  if (state_.data != learner.fingerprint())
    throw ValueError("--resume",
                     "the training data are not those that the checkpoint was made with");
  const TrainOptions& was = from.options;
  bool room = state_.epoch < options_.epochs &&
              (options_.max_steps == 0 || state_.step < options_.max_steps);
  bool other_end = was.epochs != options_.epochs || was.max_steps != options_.max_steps ||
                   was.patience != options_.patience || was.enough != options_.enough;
  if (room && other_end) state_.finished = false;
  Index batches = learner_.begin(Split::Train, state_.epoch);
  if (state_.batch > batches)
    throw FileError(in_folder(options_.out, "last.safetensors"),
                    "is at batch " + std::to_string(state_.batch) + " of an epoch that has " +
                        std::to_string(batches));
  learner_.model().load_state_dict(from.weights);
  try {
    optimizer_->load_state_dict(from.optimizer);
  } catch (const ValueError& e) {
    throw FileError(from.file, "is no file to resume from: of its optimizer " + e.problem());
  }
}

Measures Trainer::backward(Index part, Index first, Index end, Index targets) {
  const Interruptible interruptible(stop_);
  draw_as(state_, part);
  Measures sums;
  for (Index batch = first; batch < end && sums.finite(); ++batch) {
    const Index number = batch * options_.shards + part;
    if (learner_.size(Split::Train, number).samples == 0) continue;
    ObservedTape tape(observers_);
    const MeasuredLoss measured = learner_.loss(Split::Train, number, state_.step);
    const Var loss = measured.loss / static_cast<double>(targets);
    sums += measured.sums;
    if (sums.finite()) tape.backward(loss);
  }
  return sums;
}

StepReport Trainer::update(Index batches) {
  const double start = seconds_now();
  const Index first = state_.batch, end = std::min(batches, first + options_.accumulate);
  const BatchSize size = joined_size(first, end);
  for (TrainObserver* o : observers_) o->drawn(first * options_.shards, end * options_.shards);
  const Measures sums =
      shards_.sum([&](Index part) { return backward(part, first, end, size.targets); });
  if (!sums.finite()) end_not_finite(first, end, "the loss is not finite");
  for (TrainObserver* o : observers_) o->gradients_ready(state_.step + 1);
  const double norm = clip(first, end);
  optimizer_->set_rate(schedule_.rate(state_.step + 1));
  optimizer_->step();
  optimizer_->zero_grad();
  ++state_.step;
  state_.batch = end;
  state_.stream = static_cast<Index>(generator().stream());
  state_.tokens += sums.tokens;
  state_.samples += size.samples;
  state_.epoch_sums += sums;
  return {.sums = sums,
          .rate = optimizer_->rate(),
          .gradient_norm = norm,
          .seconds = seconds_now() - start,
          .step = state_.step,
          .epoch = state_.epoch + 1,
          .batch = end,
          .batches = batches};
}

bool Trainer::run(TrainObservers observers, const std::atomic<bool>& stop) {
  observers_ = std::move(observers);
  const Processes& processes = shards_.processes;
  if (processes.size() == 1) stop_ = &stop;  // several stop after the same update
  const auto due = [&](Index every) { return every > 0 && state_.step % every == 0; };
  learner_.model().train();
  try {
    while (!state_.finished) {
      const Index batches = learner_.begin(Split::Train, state_.epoch);
      const double epoch_start = seconds_now();
      while (state_.batch < batches) {
        const StepReport report = update(batches);
        for (TrainObserver* o : observers_) o->stepped(report);
        if (state_.batch == batches) break;
        if (due(options_.valid_every) || at_limit()) {
          if (validate_and_save(false, seconds_now() - epoch_start)) return true;
        } else if (due(options_.save_every)) {
          save("last.safetensors", true);
        }
        if (processes.any(stop)) throw Interrupted{};
      }
      if (validate_and_save(true, seconds_now() - epoch_start)) return true;
      if (processes.any(stop)) return false;
    }
  } catch (const Interrupted&) {
    // The run is what it was before the update or validation under way.
    learner_.model().zero_grad();
    learner_.model().train();
    save("last.safetensors", true);
    return false;
  }
  return true;
}

StepReport Trainer::replay(Index step, TrainObservers observers) {
  observers_ = std::move(observers);
  learner_.model().train();
  for (;; ++state_.epoch, state_.batch = 0) {
    const Index batches = learner_.begin(Split::Train, state_.epoch);
    while (state_.batch < batches)
      if (const StepReport report = update(batches); report.step == step) return report;
  }
}

double Trainer::clip(Index first, Index end) {
  const NamedParameters parameters = optimizer_->parameters();
  double norm = 0;
  try {
    norm = options_.clip > 0 ? clip_gradient_norm(parameters, options_.clip)
                             : gradient_norm(parameters);
  } catch (const NonFiniteError& e) {
    learner_.model().zero_grad();
    end_not_finite(first, end, e.problem());
  }
  return norm;
}

BatchSize Trainer::joined_size(Index first, Index end) const {
  BatchSize total;
  for (Index part = first * options_.shards; part < end * options_.shards; ++part) {
    BatchSize size = learner_.size(Split::Train, part);
    total.samples += size.samples;
    total.targets += size.targets;
  }
  return total;
}

std::string Trainer::kept_checkpoint() const {
  std::string last = in_folder(options_.out, "last.safetensors");
  std::error_code error;  // it may be of a run that --overwrite is about to replace
  return (saved_last_ && std::filesystem::exists(last, error)
              ? "; the last good checkpoint is " + last
              : "; there was no checkpoint yet") +
         " (a lower --rate, a longer --warmup or --clip may help)";
}

void Trainer::end_not_finite(Index first, Index end, const std::string& what) {
  shards_.processes.together([&] {
    if (shards_.processes.first()) throw NonFiniteError("train", diagnosis(first, end, what));
  });
}

std::string Trainer::not_finite_parameter() const {
  for (const auto& [name, p] : learner_.model().named_parameters())
    if (!all_finite(p.value())) return "the parameter " + name + " is not finite";
  return "";
}

std::string Trainer::diagnosis(Index first, Index end, const std::string& what) {
  std::string found = not_finite_parameter();
  if (found.empty()) {
    found = "no op gave such a number when the step was run again";
    const Index targets = joined_size(first, end).targets;
    FiniteChecks checks;
    const TrainObservers others = std::exchange(observers_, {&checks});
    try {
      UseForm use(OpForm::Explicit);
      for (Index part = 0; part < options_.shards; ++part) backward(part, first, end, targets);
    } catch (const NonFiniteError& e) {
      found = "first in " + e.one_line();
    }
    observers_ = others;
  }
  for (TrainObserver* o : observers_) o->failed(state_.step + 1, what + "; " + found);
  return "step " + std::to_string(state_.step + 1) + ": " + what + "; " + found + kept_checkpoint();
}

void Trainer::save(const std::string& name, bool with_optimizer) {
  if (!shards_.processes.first()) return;
  // A finite step can still end in weights that are not: they replace no good checkpoint.
  if (const std::string found = not_finite_parameter(); !found.empty())
    throw NonFiniteError("train",
                         found + " after step " + std::to_string(state_.step) + kept_checkpoint());
  Checkpoint c;
  c.kind = learner_.kind();
  c.description = learner_.description();
  c.options = options_;
  c.config_toml = config_toml_;
  c.state = state_;
  c.weights = learner_.model().state_dict();
  if (with_optimizer) c.optimizer = optimizer_->state_dict();
  std::string path = in_folder(options_.out, name);
  save_checkpoint(path, c);
  saved_last_ = saved_last_ || name == "last.safetensors";
  for (TrainObserver* o : observers_) o->saved(path);
}

bool Trainer::validate_and_save(bool epoch_end, double seconds) {
  ValidationReport report;
  report.train = state_.epoch_sums.per_target();
  report.step = state_.step;
  report.epoch = state_.epoch + 1;
  report.seconds = seconds;
  {
    // A validation that is stopped at an epoch's end is made again. One within an epoch would not be, so nothing
    // stops it.
    const Interruptible interruptible(epoch_end ? stop_ : nullptr);
    report.valid = measure_validation(learner_, state_.step, shards_.processes);
    if (epoch_end && options_.try_every > 0 && report.epoch % options_.try_every == 0)
      report.trial = learner_.trial();
  }
  if (epoch_end) {
    ++state_.epoch;
    state_.batch = 0;
    state_.epoch_sums = {};
  }
  ++state_.validations;
  double now_at = report.valid.tokens > 0 ? learner_.criterion(report.valid) : report.train.kl;
  report.improved = std::isfinite(now_at) && (state_.best_step == 0 || now_at < state_.best);
  if (report.improved) {
    state_.best = now_at;
    state_.best_step = state_.step;
    state_.bad_validations = 0;
  } else {
    ++state_.bad_validations;
  }
  for (TrainObserver* o : observers_) o->validated(report);
  bool enough = (options_.patience > 0 && state_.bad_validations >= options_.patience) ||
                (options_.enough > 0 && report.trial && report.trial->exact >= options_.enough);
  bool end = enough || (epoch_end && state_.epoch >= options_.epochs) || at_limit();
  state_.finished = end;
  // `last` comes after the others: a run that dies in between resumes before them and writes them
  // again, the same.
  if (report.improved) save("best.safetensors", false);
  if (shards_.processes.first() && epoch_end && options_.average > 0) {
    save("epoch-" + std::to_string(state_.epoch) + ".safetensors", false);
    std::error_code ignored;
    std::filesystem::remove(
        in_folder(options_.out,
                  "epoch-" + std::to_string(state_.epoch - options_.average) + ".safetensors"),
        ignored);
  }
  if (end && options_.average > 0) save_average();
  save("last.safetensors", true);
  return end;
}

void Trainer::save_average() {
  if (!shards_.processes.first()) return;
  std::vector<StateDict> states;
  for (Index e = std::max<Index>(1, state_.epoch - options_.average + 1); e <= state_.epoch; ++e)
    states.push_back(
        load_checkpoint(in_folder(options_.out, "epoch-" + std::to_string(e) + ".safetensors"))
            .weights);
  if (states.empty()) return;
  StateDict trained;
  for (auto& [name, tensor] : learner_.model().state_dict()) trained[name] = tensor.clone();
  learner_.model().load_state_dict(average(states));
  save("average.safetensors", false);
  learner_.model().load_state_dict(trained);
}

}  // namespace glim
