#include "tools/train/trainer.hpp"

#include <cmath>

#include "autograd/restored.hpp"
#include "optim/clip.hpp"
#include "tensor/clock.hpp"
#include "tensor/interrupt.hpp"
#include "tensor/random.hpp"

namespace glim {

bool Trainer::run(TrainObservers observers, const std::atomic<bool>& stop) {
  const Restored watched(observers_, std::move(observers));
  // One process stops at once: stop_ throws Interrupted in an update or a validation, and the state is the one before.
  // Several stop after the same update: all ask processes.any(stop).
  const Restored stopped_by(stop_, shards_.processes.size() == 1 ? &stop : nullptr);
  learner_.model().train();
  try {
    while (!state_.finished && run_epoch(stop)) {
    }
  } catch (const Interrupted&) {
    // The state is as before the interrupted update or validation.
    learner_.model().zero_grad();
    learner_.model().train();
    save(kLastFile, true);
  }
  return state_.finished;
}

bool Trainer::run_epoch(const std::atomic<bool>& stop) {
  const auto due = [&](Index every) { return every > 0 && state_.step % every == 0; };
  const Index batches = learner_.begin(Split::Train, state_.epoch);
  const double start = seconds_now();
  while (state_.batch < batches) {
    notify(&TrainObserver::stepped, update(batches));
    if (state_.batch == batches) break;
    if (due(options_.valid_every) || at_limit()) {
      if (validate_and_save(false, seconds_now() - start)) return false;
    } else if (due(options_.save_every)) {
      save(kLastFile, true);
    }
    if (shards_.processes.any(stop)) {
      save(kLastFile, true);
      return false;
    }
  }
  return !validate_and_save(true, seconds_now() - start) && !shards_.processes.any(stop);
}

StepReport Trainer::update(Index batches) {
  // The batches.
  const double start = seconds_now();
  const Index first = state_.batch, end = std::min(batches, first + options_.accumulate);
  const BatchSize size = joined_size(first, end);
  notify(&TrainObserver::drawn, first * options_.shards, end * options_.shards);

  // Their gradient, into the parameters' grad(): forward and backward in each slot, added up.
  const Measures sums =
      shards_.sum([&](Index slot) { return forward_and_backward(slot, first, end, size.targets); });
  if (!sums.finite()) end_not_finite(first, end, "the loss is not finite");
  notify(&TrainObserver::gradients_ready, state_.step + 1);

  // The step (section 5.3).
  const double norm = clip_gradient(first, end);
  optimizer_->set_rate(schedule_.rate(state_.step + 1));
  optimizer_->step();
  optimizer_->zero_grad();

  // A checkpoint has these for a run that is resumed.
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

Measures Trainer::forward_and_backward(Index slot, Index first, Index end, Index targets) {
  const Interruptible interruptible(stop_);
  draw_as(state_, slot);
  Measures sums;
  for (Index batch = first; batch < end && sums.finite(); ++batch) {
    const Index shard = batch * options_.shards + slot;
    if (learner_.size(Split::Train, shard).samples == 0) continue;
    ObservedTape tape(observers_);
    const MeasuredLoss measured = learner_.loss(Split::Train, shard, state_.step);
    // The mean over the N targets of all batches: gradients of slots and batches add up to that of one batch.
    const Var loss = measured.loss / static_cast<double>(targets);
    sums += measured.sums;
    if (sums.finite()) tape.backward(loss);
  }
  return sums;
}

double Trainer::clip_gradient(Index first, Index end) {
  const NamedParameters parameters = optimizer_->parameters();
  try {
    return options_.clip > 0 ? clip_gradient_norm(parameters, options_.clip)
                             : gradient_norm(parameters);
  } catch (const NonFiniteError& e) {
    learner_.model().zero_grad();
    end_not_finite(first, end, e.problem());
  }
}

BatchSize Trainer::joined_size(Index first, Index end) const {
  BatchSize total;
  for (Index shard = first * options_.shards; shard < end * options_.shards; ++shard) {
    BatchSize size = learner_.size(Split::Train, shard);
    total.samples += size.samples;
    total.targets += size.targets;
  }
  return total;
}

ValidationReport Trainer::validate(bool epoch_end, double seconds) {
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
  ++state_.validations;
  const double criterion =
      report.valid.tokens > 0 ? learner_.criterion(report.valid) : report.train.kl;
  report.improved = std::isfinite(criterion) && (state_.best_step == 0 || criterion < state_.best);
  if (report.improved) {
    state_.best = criterion;
    state_.best_step = state_.step;
    state_.bad_validations = 0;
  } else {
    ++state_.bad_validations;
  }
  return report;
}

bool Trainer::validate_and_save(bool epoch_end, double seconds) {
  const ValidationReport report = validate(epoch_end, seconds);
  if (epoch_end) {
    ++state_.epoch;
    state_.batch = 0;
    state_.epoch_sums = {};
  }
  notify(&TrainObserver::validated, report);
  const bool early =
      (options_.patience > 0 && state_.bad_validations >= options_.patience) ||
      (options_.enough > 0 && report.trial && report.trial->exact >= options_.enough);
  state_.finished = early || (epoch_end && state_.epoch >= options_.epochs) || at_limit();
  save_all(report.improved, epoch_end);
  return state_.finished;
}

void draw_as(const TrainState& state, Index slot) {
  // Slots have the same streams under seeds of their own, 2^64 / golden ratio apart.
  generator().set_state(static_cast<std::uint64_t>(state.seed) +
                            static_cast<std::uint64_t>(slot) * 0x9e3779b97f4a7c15u,
                        static_cast<std::uint64_t>(state.stream));
}

StepReport Trainer::replay(Index step, TrainObservers observers) {
  const Restored watched(observers_, std::move(observers));
  learner_.model().train();
  for (;; ++state_.epoch, state_.batch = 0) {
    const Index batches = learner_.begin(Split::Train, state_.epoch);
    if (step <= state_.step || batches == 0)
      throw ValueError("replay", "there is no step " + std::to_string(step) + " after step " +
                                     std::to_string(state_.step));
    while (state_.batch < batches)
      if (const StepReport report = update(batches); report.step == step) return report;
  }
}

}  // namespace glim
