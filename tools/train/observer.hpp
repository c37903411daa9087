// A training run tells its observers what happens. The recorder, the profile and the progress on a terminal are
// observers.
//
//   struct Losses final : TrainObserver {
//     void stepped(const StepReport& r) override { kl.push_back(r.sums.per_target().kl); }
//     std::vector<double> kl;
//   } losses;
//   trainer.run({&losses}, stop);
//
// Observers change nothing: a run ends in the same weights with and without them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autograd/tape.hpp"
#include "tools/kinds/learner.hpp"

namespace glim {

struct StepReport {
  Measures sums;                                      // over the targets of the update
  double rate = 0, gradient_norm = 0, seconds = 0;    // the norm before clipping
  Index step = 0, epoch = 0, batch = 0, batches = 0;  // epoch from 1
};
struct ValidationReport {
  Measures train, valid;  // means of the epoch so far; valid without targets if there are none
  bool improved = false;
  Index step = 0, epoch = 0;
  double seconds = 0;  // of the epoch, or since the run was resumed in it
  std::optional<Trial> trial;
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  // The next update is of the shards first … end - 1 (Learner::begin).
  virtual void drawn(Index /*first*/, Index /*end*/) {}
  // Around forward and backward of a shard, whose tape this is.
  virtual void tape_begins(Tape&) {}
  virtual void tape_ends(Tape&) {}
  // Update `step` has its gradients, of all shards and before clipping. The weights are still the old ones.
  virtual void gradients_ready(Index /*step*/) {}
  virtual void stepped(const StepReport&) {}
  // Update `step` cannot be made.
  virtual void failed(Index /*step*/, const std::string& /*why*/) {}
  virtual void validated(const ValidationReport&) {}
  virtual void saved(const std::string& /*file*/) {}
};
using TrainObservers = std::vector<TrainObserver*>;

// A tape on which observers look.
struct ObservedTape : Tape {
  explicit ObservedTape(const TrainObservers& all) : observers(all) {
    for (TrainObserver* o : observers) o->tape_begins(*this);
  }
  ~ObservedTape() {
    for (TrainObserver* o : observers) o->tape_ends(*this);
  }
  const TrainObservers& observers;
};

}  // namespace glim
