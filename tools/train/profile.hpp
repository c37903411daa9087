// Where the time of training steps goes, by op and by module, and as a trace for a timeline viewer
// (Chrome's about:tracing, Perfetto): an observer of a run, which leaves out its first three updates.
//
// Each node's forward and backward are timed on the calling thread. The rest is what happens between
// them: adding gradients up, freeing, the optimizer.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autograd/observe/op_times.hpp"
#include "tools/train/observer.hpp"

namespace glim {

class Profile final : public TrainObserver {
 public:
  // Calls `done` after so many updates.
  Profile(Index updates, std::function<void(const Profile&)> done)
      : target_(updates), done_(std::move(done)) {}

  bool complete() const { return updates_ >= target_; }  // `done` was called
  std::string table() const;                             // of all steps, in milliseconds per step
  // The last step, in the Trace Event Format (JSON). FileError.
  void write_trace(const std::string& path) const;

  void tape_begins(Tape& tape) override;
  void tape_ends(Tape& tape) override;
  void gradients_ready(Index step) override;
  void stepped(const StepReport& report) override;

 private:
  static constexpr Index kWarm = 3;
  bool measures() const { return steps_ >= kWarm && updates_ < target_; }
  struct Times {
    Index count = 0;
    double forward = 0, backward = 0;
  };
  struct Event {
    std::string name, module;
    const char* phase;
    double start, seconds;
  };
  static std::string rows(const char* title, const std::map<std::string, Times>& times,
                          double steps, double total);

  Index target_;
  std::function<void(const Profile&)> done_;
  std::optional<OpTimes> times_;   // of the tape under way
  double start_ = 0;               // of that tape, then of the optimizer
  Index steps_ = 0, updates_ = 0;  // updates, measured ones
  std::map<std::string, Times> ops_, modules_;
  std::vector<Event> trace_;  // of the step under way
  std::vector<Event> last_;
  double batches_ = 0, taped_ = 0, optimizer_ = 0;
};

}  // namespace glim
