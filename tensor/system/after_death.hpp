// Work that is done when this process has ended, also by a signal.
#pragma once

#include <string>

namespace glim {

// A process that waits until this one has ended, even by SIGKILL: its standard input is a pipe, whose other end is closed
// then. It has a process group of its own.
class AfterDeath {
 public:
  // It removes the folder, or ends its group (not on Windows). std::system_error if no process can be started.
  explicit AfterDeath(const std::string& folder);
  AfterDeath();
  AfterDeath(const AfterDeath&) = delete;
  AfterDeath& operator=(const AfterDeath&) = delete;
  ~AfterDeath() { end_group(); }
  // Other processes may be started in the group. They are ended with it.
  int group() const { return shell_; }
  void end_group();  // nothing is removed

 private:
  void start(std::string command, std::string argument);
  int pipe_ = -1;
  int shell_ = -1;  // -1: ended
};

}  // namespace glim
