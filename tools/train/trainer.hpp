// The training loop: updates, validation, checkpoints, and exact resume.
//
//   update      for each of `accumulate` batches: loss = Σ / N, N the targets of all of them
//               together, so that the gradient is that of the joined batch; then clip, then one
//               optimizer step at the schedule's rate for this step (counted from 1)
//   shards      each batch in `shards` parts, with random numbers of their own, their gradients added up
//               in a tree (shards.hpp): the number of processes does not change a bit (processes.md)
//   validation  the same measures without dropout, at the end of each epoch or every so many steps
//
// After every update the state of the run is (weights, optimizer, TrainState). A checkpoint holds
// all of it, the batches of an epoch are a function of (data, options, seed, epoch), and random
// numbers of (seed, stream): a resumed run ends in the same bits as one never stopped.
//
// A loss or gradient norm that is not finite ends the run with a NonFiniteError. The update is run again,
// explicitly and watched, to name the first op and module where it appeared. The last checkpoint is kept.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "optim/optimizer.hpp"
#include "tensor/matmul/plan.hpp"
#include "tools/kinds/learner.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/train/profile.hpp"
#include "tools/train/recorder.hpp"

namespace glim {

struct StepReport {
  Measures sums;  // over the targets of the update
  double rate = 0, gradient_norm = 0, seconds = 0;
  Index step = 0, epoch = 0, batch = 0, batches = 0;  // epoch from 1
};
struct ValidationReport {
  Measures train, valid;  // means of the epoch so far; valid without targets if there are none
  bool improved = false;
  Index step = 0, epoch = 0;
  double seconds = 0;  // of the epoch
  std::optional<Trial> trial;
};

// Watches a run without changing it.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void stepped(const StepReport&) {}
  virtual void validated(const ValidationReport&) {}
  virtual void saved(const std::string& /*file*/) {}
  virtual void profiled(const Profile&) {}
};

// The GEMM of the checkpoint's run.
GemmEngine gemm_engine_of(const Checkpoint& checkpoint);
// Sets generator() to the random numbers of a shard in the next update.
void draw_as(const TrainState& state, Index shard);

// How many updates a run has at most.
Index planned_updates(const TrainOptions& options, Learner& learner);

class Trainer {
 public:
  // A new run. The learner must outlive it.
  Trainer(const TrainOptions& options, Learner& learner, std::string config_toml);
  // Goes on from a checkpoint; a finished run goes on when the options say another end than the checkpoint's
  // and leave room for more (else state().finished). ValueError unless the data are the ones it was trained
  // on.
  Trainer(const TrainOptions& options, Learner& learner, Checkpoint from);

  // Measures this many updates of run(), after three to warm up.
  void profile(Index updates) { profiled_updates_ = updates; }

  // Makes the updates of run() together with others, which do the same. Of all of them the first writes files.
  void share(const Processes& processes) { processes_ = &processes; }

  // Keeps a recording of run() in OUT/recording.jsonl if the options say so (recorder.hpp), and checkpoints to
  // return to, OUT/step-N.safetensors: 17 from the beginning to the end, fewer where they would take more than 1 GB.
  void record();

  // Until the end, early stopping, or `stop` becomes true: the update under way is given up, but not by one
  // of several processes, and a checkpoint is written. Returns true at the end, false when stopped from outside.
  bool run(TrainObserver& observer, const std::atomic<bool>& stop);

  // Makes the updates up to `step` again, without validation, checkpoints and records. `before` is called before
  // the last of them, with the parts first … end - 1 of its batches. NonFiniteError as in run().
  struct Replayed {
    double loss, gradient_norm;  // KL in nats per target; before clipping
  };
  Replayed replay(Index step, const std::function<void(Index first, Index end)>& before);

  const TrainState& state() const { return state_; }
  const Schedule& schedule() const { return schedule_; }
  Index total_steps() const { return total_steps_; }

 private:
  void build();
  struct Update {
    Measures sums;
    double gradient_norm;
  };
  // Batches first … end - 1 of the epoch, joined.
  Update update(Index first, Index end);
  struct Share {
    Measures sums;             // not finite: there is no gradient
    std::uint64_t stream = 0;  // of the random numbers after it
  };
  // Adds the gradient of one part of each of these batches to the parameters'.
  Share backward(Index shard, Index first, Index end, Index targets, bool check_finite = false);
  // The gradient of the joined batches, with the other processes. What each part measured.
  std::vector<Share> backward_all(Index first, Index end, Index targets);
  bool profiling() const { return warm_updates_ >= 3 && profile_.steps() < profiled_updates_; }
  BatchSize joined_size(Index first, Index end) const;
  void end_not_finite(Index first, Index end, const std::string& what);  // in all processes
  std::string diagnosis(Index first, Index end, const std::string& what);
  std::string not_finite_parameter() const;  // which one is; empty: none
  std::string kept_checkpoint() const;       // and what may help, for errors
  void save(const std::string& name, bool with_optimizer, TrainObserver& observer);
  void save_average(TrainObserver& observer);
  bool validate_and_save(TrainObserver& observer, bool epoch_end, double seconds);

  TrainOptions options_;
  Learner& learner_;
  std::string config_toml_;
  TrainState state_;
  bool saved_last_ = false;  // OUT/last.safetensors is of this run
  const std::atomic<bool>* stop_ = nullptr;
  std::unique_ptr<Optimizer> optimizer_;
  Schedule schedule_;
  std::unique_ptr<StepRecorder> recorder_;
  const Processes alone_, *processes_ = &alone_;
  Index total_steps_ = 0;
  Index return_every_ = 0;  // steps between the checkpoints to return to; 0: none
  Index profiled_updates_ = 0, warm_updates_ = 0;
  Profile profile_;
};

}  // namespace glim
