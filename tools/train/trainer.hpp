// The training loop: updates, validation, checkpoints, and exact resume.
//
//   run                             until the run is finished:
//     run_epoch                       for each `accumulate` batches:
//       update                          for each slot: forward_and_backward; then clip_gradient, optimizer.step
//         forward_and_backward            for the slot's shard of each batch: loss = Learner::loss / N; tape.backward(loss)
//       validate_and_save               every so many updates, and at the end of the epoch
//
// Learner::loss is the forward pass of a kind of model (tools/kinds/learner.hpp; of pairs: tools/kinds/pairs.cpp).
// Sections of the paper: 5.1 batches, tools/data/corpus/batches.hpp; 5.3 Adam, optim/kernels/adam.cpp, and equation 3,
// the rate, optim/schedule.cpp; 5.4 label smoothing, autograd/ops/label_smoothing.cpp.
//
//   update      N is the number of targets of all these batches together, so that the gradient is that of the joined
//               batch. The rate is the schedule's for this step, counted from 1
//   shards      each batch in `shards` shards, one a slot; a slot has random numbers of its own. One process or
//               several compute them, and sum their gradients (shards.hpp)
//   observers   look on: the recorder, the profile, the log (observer.hpp)
//   validation  the same measures without dropout, at the end of each epoch and every so many steps
//
// After every update the state of the run is (weights, optimizer, TrainState). A checkpoint holds
// all of it, the batches of an epoch are a function of (data, options, seed, epoch), and random
// numbers of (seed, stream): a resumed run ends in the same bits as one never stopped.
//
// A loss or gradient norm that is not finite ends the run with a NonFiniteError. The update is run again,
// explicitly and watched, to name the first op and module where it appeared. The last checkpoint is kept.
#pragma once

#include <atomic>
#include <memory>

#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "tensor/matmul/plan.hpp"
#include "tools/kinds/learner.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/observer.hpp"
#include "tools/train/shards.hpp"

namespace glim {

// The GEMM of the checkpoint's run.
GemmEngine gemm_engine_of(const Checkpoint& checkpoint);
MatmulPrecision matmul_precision_of(const Checkpoint& checkpoint);
// Sets generator() to the random numbers of a slot in the next update.
void draw_as(const TrainState& state, Index slot);

// How many updates a run has if each epoch has as many as the first, and nothing stops it before.
Index planned_updates(const TrainOptions& options, Learner& learner);

class Trainer {
 public:
  // A new run. The learner must outlive it. Several processes make its updates together, each with a trainer; of all
  // of them the first writes files.
  Trainer(const TrainOptions& options, Learner& learner, std::string config_toml,
          const Processes& processes = {});
  // Continues from a checkpoint. A finished run continues if the options move its end and updates remain (else
  // state().finished). ValueError unless the data are the ones it was trained on.
  Trainer(const TrainOptions& options, Learner& learner, Checkpoint checkpoint,
          const Processes& processes = {});

  // Runs to the end, to early stopping, or until `stop` is true. A single process abandons the current update;
  // several finish it. Then a checkpoint is written. Returns true at the end, false when stopped from outside.
  bool run(TrainObservers observers, const std::atomic<bool>& stop);

  // Makes the updates up to `step` again, without validation and checkpoints. NonFiniteError as in run(); ValueError
  // unless `step` is ahead.
  StepReport replay(Index step, TrainObservers observers);

  // Writes the checkpoint OUT/NAME, unless another process does (trainer_files.cpp).
  void save(const std::string& name, bool with_optimizer);

  const TrainOptions& options() const { return options_; }
  Learner& learner() { return learner_; }
  const TrainState& state() const { return state_; }
  const Schedule& schedule() const { return schedule_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  Index total_steps() const { return total_steps_; }
  Index averaged() const { return averaged_; }  // epochs in the average at the end

 private:
  // The rest of the epoch, and its validation. Returns false at the end of the run, or when stopped.
  bool run_epoch(const std::atomic<bool>& stop);
  // The next update of an epoch with so many batches.
  StepReport update(Index batches);
  // Adds the gradient of the shard in this slot of each of the batches first … end - 1 to the parameters'. Ends at the
  // first of which the loss is not finite, without its gradient.
  Measures forward_and_backward(Index slot, Index first, Index end, Index targets);
  double clip_gradient(Index first, Index end);  // returns the norm before
  bool at_limit() const { return options_.max_steps > 0 && state_.step >= options_.max_steps; }
  BatchSize joined_size(Index first, Index end) const;
  // Ends the run, in all processes, with what diagnosis finds in the first (trainer_not_finite.cpp).
  [[noreturn]] void end_not_finite(Index first, Index end, const std::string& what);
  std::string diagnosis(Index first, Index end, const std::string& what);
  std::string not_finite_parameter() const;      // which one is; empty: none
  std::string kept_checkpoint() const;           // and what may help, for errors
  void remove_earlier(const std::string& name);  // checkpoints of another run, but for this one
  void save_average();  // of those of the last epochs whose weights were kept
  void save_all(bool improved, bool epoch_end);
  ValidationReport validate(bool epoch_end, double seconds);
  // Returns true when the run is at its end.
  bool validate_and_save(bool epoch_end, double seconds);
  template <class Event, class... Args>
  void notify(Event event, const Args&... args) {
    for (TrainObserver* o : observers_) (o->*event)(args...);
  }

  TrainOptions options_;
  Learner& learner_;
  std::string config_toml_;
  TrainState state_;
  Index averaged_ = 0;
  bool begins_ = true;       // no checkpoint is of this run yet
  bool saved_last_ = false;  // OUT/last.safetensors is of this run
  const std::atomic<bool>* stop_ = nullptr;
  std::unique_ptr<Optimizer> optimizer_;
  Index total_steps_;
  Schedule schedule_;
  Shards shards_;
  TrainObservers observers_;
};

}  // namespace glim
