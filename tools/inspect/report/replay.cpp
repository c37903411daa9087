#include "tools/inspect/report/replay.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "optim/clip.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/plan.hpp"
#include "tools/common/escape.hpp"
#include "tools/inspect/report/training_run.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/train/trainer.hpp"

namespace glim {
namespace {

// Samples of parts first … end - 1 of batches: in train() to draw as the step does, then in eval().
std::vector<ReplayedSample> samples_of(Learner& learner, const TrainState& state, Index shards,
                                       Index first, Index end) {
  auto parameters = learner.model().named_parameters();
  double targets = 0;
  auto is_empty = [&](Index part) { return learner.size(Split::Train, part).samples == 0; };
  for (Index shard = 0; shard < shards; ++shard) {
    draw_as(state, shard);
    for (Index part = first + shard; part < end; part += shards) {
      if (is_empty(part)) continue;
      NoGrad no_tape;
      learner.loss(Split::Train, part, state.step);
      targets += static_cast<double>(learner.size(Split::Train, part).targets);
    }
  }
  std::vector<ReplayedSample> list;
  learner.model().eval();
  for (Index b = first; b < end; ++b) {
    if (is_empty(b)) continue;
    std::vector<TrainingSample> samples = learner.samples(b);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      Tape tape;
      Var loss = learner.sample_loss(b, i);
      tape.backward(loss / targets);
      double norm = kNan;
      try {
        norm = gradient_norm(parameters);
      } catch (const NonFiniteError&) {  // the largest of all
      }
      list.push_back({std::move(samples[i]), loss.item(), norm});
      learner.model().zero_grad();
    }
  }
  learner.model().train();
  auto size = [](const ReplayedSample& s) {
    return std::isnan(s.gradient_norm) ? HUGE_VAL : s.gradient_norm;
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const auto& a, const auto& b) { return size(a) > size(b); });
  return list;
}

// Looks at the samples and the model before the last update.
struct BeforeStep final : TrainObserver {
  BeforeStep(Trainer& t, Index s, ReplayedStep& r) : trainer(t), step(s), result(r) {}
  void drawn(Index first, Index end) override {
    if (trainer.state().step + 1 != step) return;
    Learner& learner = trainer.learner();
    result.samples = samples_of(learner, trainer.state(), trainer.options().shards, first, end);
    Checkpoint& before = result.before;
    before.kind = learner.kind();
    before.description = learner.description();
    before.options = trainer.options();
    before.config_toml = trainer.options().to_toml();
    before.state = trainer.state();
    for (auto& [name, tensor] : learner.model().state_dict()) before.weights[name] = tensor.clone();
  }
  Trainer& trainer;
  Index step;
  ReplayedStep& result;
};

}  // namespace

ReplayedStep replay_step(const std::string& folder, Index step) {
  const TrainingRun run = read_training_run(folder);
  const Recording& r = run.recording;
  Index reached = r.stopped_at;
  for (const auto* steps : {&r.step, &run.train.step})
    if (!steps->empty()) reached = std::max(reached, steps->back());
  if (step < 1 || step > reached)
    throw ValueError("--step", fmt::format("the run in {} has the steps 1 to {}", folder, reached));
  auto files = steps_to_return_to(folder);
  auto after = files.lower_bound(step);
  if (after == files.begin())
    throw FileError(
        folder,
        "holds no step-N.safetensors from before the step: glim train --record keeps some, "
        "unless the model is too large");
  const std::string& file = std::prev(after)->second;

  Checkpoint checkpoint = load_checkpoint(file);
  use_gemm_engine(gemm_engine_of(checkpoint));
  TrainOptions options = checkpoint.options;
  options.out = folder;
  std::unique_ptr<Learner> learner = make_learner(options, &checkpoint);
  if (learner->fingerprint() != checkpoint.state.data)
    throw ValueError("--run", "the training data are no longer those of the run in " + folder);
  Trainer trainer(options, *learner, std::move(checkpoint));
  ReplayedStep result;
  result.start = trainer.state().step;
  BeforeStep before(trainer, step, result);
  try {
    const StepReport replayed = trainer.replay(step, {&before});
    result.loss = replayed.sums.per_target().kl;
    result.gradient_norm = replayed.gradient_norm;
  } catch (const NonFiniteError&) {
    if (result.samples.empty()) throw;
    result.loss = result.gradient_norm = kNan;
  }
  for (std::size_t i = 0; i < r.step.size(); ++i)
    if (r.step[i] == step) result.recorded = r.loss[i];
  return result;
}

std::string replay_command(const std::string& folder, Index step) {
  return fmt::format("glim inspect {} --step {}", typed_option("run", folder), step);
}

}  // namespace glim
