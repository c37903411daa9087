#include "tools/train/trainer.hpp"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>

#include "autograd/observe/finite.hpp"
#include "autograd/op_form.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/averaging.hpp"
#include "optim/clip.hpp"
#include "optim/sgd.hpp"
#include "tensor/clock.hpp"
#include "tensor/interrupt.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/common/toml.hpp"
#include "tools/train/shards.hpp"

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

Trainer::Trainer(const TrainOptions& options, Learner& learner, std::string config_toml)
    : options_(options), learner_(learner), config_toml_(std::move(config_toml)) {
  build();
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

Trainer::Trainer(const TrainOptions& options, Learner& learner, Checkpoint from)
    : options_(options),
      learner_(learner),
      config_toml_(std::move(from.config_toml)),
      state_(from.state),
      saved_last_(true) {
  if (state_.data != learner.fingerprint())
    throw ValueError("--resume",
                     "the training data are not those that the checkpoint was made with");
  build();
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

void Trainer::build() {
  optimizer_ = make_optimizer(options_, learner_.model());
  total_steps_ = planned_updates(options_, learner_);
  schedule_ = make_schedule(options_, total_steps_);
}

void Trainer::record() {
  namespace fs = std::filesystem;
  std::string path = in_folder(options_.out, "recording.jsonl");
  if (state_.step == 0)  // an earlier run's
    for (const auto& [step, file] : steps_to_return_to(options_.out)) fs::remove(file);
  if (!options_.record) {
    if (state_.step == 0) fs::remove(path);
    return;
  }
  recorder_ = std::make_unique<StepRecorder>(
      path, learner_, log_interval(options_.record_every, total_steps_), state_.step, total_steps_);
  // Weights and both moments, in bytes.
  double each = 3.0 * static_cast<double>(learner_.model().parameter_count()) *
                (options_.precision == "float64" ? 8 : 4);
  auto most = static_cast<Index>(std::min(16.0, 1e9 / each));
  return_every_ = most > 0 ? (total_steps_ + most - 1) / most : 0;
  TrainObserver nobody;  // a run that has made no step replaces no model
  if (return_every_ > 0 && state_.step == 0) save("step-0.safetensors", true, nobody);
}

Trainer::Share Trainer::backward(Index shard, Index first, Index end, Index targets,
                                 bool check_finite) {
  Interruptible interruptible(stop_);
  draw_as(state_, shard);
  Share share;
  for (Index b = first; b < end; ++b) {
    const Index part = b * options_.shards + shard;
    if (learner_.size(Split::Train, part).samples == 0) continue;
    Measures sums;
    double start = seconds_now();
    Tape tape;
    std::optional<OpTimes> times;
    std::optional<FiniteCheck> finite;
    if (profiling()) times.emplace(tape);
    if (check_finite) finite.emplace(tape);
    Var loss = learner_.loss(Split::Train, part, state_.step, sums) / static_cast<double>(targets);
    share.sums += sums;
    if (!std::isfinite(sums.kl + sums.auxiliary)) break;
    tape.backward(loss);
    if (times) profile_.add(tape, *times, seconds_now() - start);
  }
  share.stream = generator().stream();
  return share;
}

std::vector<Trainer::Share> Trainer::backward_all(Index first, Index end, Index targets) {
  if (options_.shards == 1) return {backward(0, first, end, targets)};
  const Index each = options_.shards / processes_->size(), mine = each * processes_->rank();
  ShardGradients gradients(learner_.model().named_parameters());
  std::vector<Share> shares;
  processes_->together([&] {
    for (Index shard = mine; shard < mine + each; ++shard) {
      shares.push_back(backward(shard, first, end, targets));
      gradients.take();
    }
  });
  gradients.give(*processes_);
  return processes_->gather(shares);
}

Trainer::Update Trainer::update(Index first, Index end) {
  BatchSize size = joined_size(first, end);
  Measures measured;
  Index stream = 0;
  for (const Share& share : backward_all(first, end, size.targets)) {
    measured += share.sums;
    stream = std::max(stream, static_cast<Index>(share.stream));
  }
  if (!std::isfinite(measured.kl + measured.auxiliary))
    end_not_finite(first, end, "the loss is not finite");
  double after_backward = seconds_now();
  auto parameters = learner_.model().named_parameters();
  bool recorded = recorder_ && recorder_->due(state_.step + 1);
  if (recorded) recorder_->before_update();
  double norm = 0;
  try {
    norm = options_.clip > 0 ? clip_gradient_norm(parameters, options_.clip)
                             : gradient_norm(parameters);
  } catch (const NonFiniteError& e) {
    learner_.model().zero_grad();
    end_not_finite(first, end, e.problem());
  }
  optimizer_->set_rate(schedule_.rate(state_.step + 1));
  optimizer_->step();
  optimizer_->zero_grad();
  if (profiling()) profile_.add_optimizer(after_backward, seconds_now() - after_backward);
  ++warm_updates_;
  ++state_.step;
  state_.stream = stream;
  state_.tokens += measured.tokens;
  state_.samples += size.samples;
  state_.epoch_kl += measured.kl;
  state_.epoch_ce += measured.smoothed_ce;
  state_.epoch_nll += measured.nll;
  state_.epoch_tokens += measured.tokens;
  if (recorded) recorder_->after_update(state_.step, optimizer_->rate(), measured.per_target().kl);
  return {measured, norm};
}

// The batches first … end - 1 of the epoch, together.
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
  processes_->together([&] {
    if (processes_->first()) throw NonFiniteError("train", diagnosis(first, end, what));
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
    Index targets = joined_size(first, end).targets;
    try {
      UseForm use(OpForm::Explicit);
      for (Index shard = 0; shard < options_.shards; ++shard)
        backward(shard, first, end, targets, true);
    } catch (const NonFiniteError& e) {
      found = "first in " + e.one_line();
    }
  }
  if (recorder_) recorder_->stopped(state_.step + 1, what + "; " + found);
  return "step " + std::to_string(state_.step + 1) + ": " + what + "; " + found + kept_checkpoint();
}

void Trainer::save(const std::string& name, bool with_optimizer, TrainObserver& observer) {
  if (!processes_->first()) return;
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
  observer.saved(path);
}

// Returns true when patience has run out.
bool Trainer::validate_and_save(TrainObserver& observer, bool epoch_end, double seconds) {
  ValidationReport report;
  Measures epoch;
  epoch.kl = state_.epoch_kl;
  epoch.smoothed_ce = state_.epoch_ce;
  epoch.nll = state_.epoch_nll;
  epoch.tokens = state_.epoch_tokens;
  report.train = epoch.per_target();
  // What stops it at an epoch's end has it made again; within an epoch it would be left out.
  std::optional<Interruptible> interruptible(std::in_place, epoch_end ? stop_ : nullptr);
  report.valid = measure_validation(learner_, state_.step, *processes_);
  report.step = state_.step;
  report.epoch = state_.epoch + (epoch_end ? 0 : 1);
  report.seconds = seconds;
  if (epoch_end && options_.try_every > 0 && state_.epoch % options_.try_every == 0)
    report.trial = learner_.trial();
  interruptible.reset();
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
  if (epoch_end) {
    state_.epoch_kl = state_.epoch_ce = state_.epoch_nll = 0;
    state_.epoch_tokens = 0;
  }
  observer.validated(report);
  bool enough = (options_.patience > 0 && state_.bad_validations >= options_.patience) ||
                (options_.enough > 0 && report.trial && report.trial->exact >= options_.enough);
  bool end = enough || (epoch_end && state_.epoch >= options_.epochs) ||
             (options_.max_steps > 0 && state_.step >= options_.max_steps);
  state_.finished = end;
  // `last` comes after the others: a run that dies in between resumes before them and writes them
  // again, the same.
  if (report.improved) save("best.safetensors", false, observer);
  if (processes_->first() && epoch_end && options_.average > 0) {
    save("epoch-" + std::to_string(state_.epoch) + ".safetensors", false, observer);
    std::error_code ignored;
    std::filesystem::remove(
        in_folder(options_.out,
                  "epoch-" + std::to_string(state_.epoch - options_.average) + ".safetensors"),
        ignored);
  }
  if (end && options_.average > 0) save_average(observer);
  save("last.safetensors", true, observer);
  return end;
}

void Trainer::save_average(TrainObserver& observer) {
  if (!processes_->first()) return;
  std::vector<StateDict> states;
  for (Index e = std::max<Index>(1, state_.epoch - options_.average + 1); e <= state_.epoch; ++e)
    states.push_back(
        load_checkpoint(in_folder(options_.out, "epoch-" + std::to_string(e) + ".safetensors"))
            .weights);
  if (states.empty()) return;
  StateDict trained;
  for (auto& [name, tensor] : learner_.model().state_dict()) trained[name] = tensor.clone();
  learner_.model().load_state_dict(average(states));
  save("average.safetensors", false, observer);
  learner_.model().load_state_dict(trained);
}

Trainer::Replayed Trainer::replay(Index step, const std::function<void(Index, Index)>& before) {
  learner_.model().train();
  for (;; ++state_.epoch, state_.batch = 0) {
    Index count = learner_.begin(Split::Train, state_.epoch);
    while (state_.batch < count) {
      Index end = std::min(count, state_.batch + options_.accumulate);
      if (state_.step + 1 == step) before(state_.batch * options_.shards, end * options_.shards);
      Update u = update(state_.batch, end);
      state_.batch = end;
      if (state_.step == step) return {u.sums.per_target().kl, u.gradient_norm};
    }
  }
}

bool Trainer::run(TrainObserver& observer, const std::atomic<bool>& stop) {
  learner_.model().train();
  if (processes_->size() == 1) stop_ = &stop;  // several stop after the same update
  // Within an update, or the validation after an epoch's last, the run is what it was before.
  auto save_interrupted = [&] {
    learner_.model().zero_grad();
    learner_.model().train();
    save("last.safetensors", true, observer);
    return false;
  };
  while (!state_.finished) {
    Index count = learner_.begin(Split::Train, state_.epoch);
    double epoch_start = seconds_now();
    while (state_.batch < count) {
      double start = seconds_now();
      Index end = std::min(count, state_.batch + options_.accumulate);
      Update u{};
      try {
        u = update(state_.batch, end);
      } catch (const Interrupted&) {
        return save_interrupted();
      }
      state_.batch = end;
      if (profiled_updates_ > 0 && profile_.steps() == profiled_updates_) {
        observer.profiled(profile_);
        profiled_updates_ = 0;
      }
      observer.stepped({u.sums, optimizer_->rate(), u.gradient_norm, seconds_now() - start,
                        state_.step, state_.epoch + 1, state_.batch, count});
      if (return_every_ > 0 && state_.step % return_every_ == 0)
        save(fmt::format("step-{}.safetensors", state_.step), true, observer);
      bool limit = options_.max_steps > 0 && state_.step >= options_.max_steps;
      bool epoch_end = state_.batch >= count;
      if (epoch_end) break;
      if (limit || (options_.valid_every > 0 && state_.step % options_.valid_every == 0)) {
        if (validate_and_save(observer, false, seconds_now() - epoch_start)) return true;
      } else if (options_.save_every > 0 && state_.step % options_.save_every == 0) {
        save("last.safetensors", true, observer);
      }
      if (processes_->any(stop)) {
        save("last.safetensors", true, observer);
        return false;
      }
    }
    ++state_.epoch;
    state_.batch = 0;
    try {
      if (validate_and_save(observer, true, seconds_now() - epoch_start)) break;
    } catch (const Interrupted&) {
      --state_.epoch;
      state_.batch = count;
      return save_interrupted();
    }
    if (processes_->any(stop)) return false;
  }
  return true;
}

}  // namespace glim
