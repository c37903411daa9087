// Where the time of training steps goes, by op and by module, and as a trace for a timeline viewer
// (Chrome's about:tracing, Perfetto).
//
// Each node's forward and backward are timed on the calling thread. The rest is what happens between
// them: adding gradients up, freeing, the optimizer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autograd/observe/op_times.hpp"

namespace glim {

class Profile {
 public:
  // One batch: its tape and the times of its ops after backward, and the seconds from the start of forward to here.
  void add(const Tape& tape, const OpTimes& times, double seconds);
  // The rest of an update: clipping and the optimizer.
  void add_optimizer(double start, double seconds);

  Index steps() const { return updates_; }
  std::string table() const;  // of all steps, in milliseconds per step
  // The last step, in the Trace Event Format (JSON). FileError.
  void write_trace(const std::string& path) const;

 private:
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

  std::map<std::string, Times> ops_, modules_;
  std::vector<Event> trace_;  // of the step under way
  std::vector<Event> last_;
  double batches_ = 0, taped_ = 0, optimizer_ = 0;
  Index updates_ = 0;
};

}  // namespace glim
