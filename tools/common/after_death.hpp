// A shell command that runs when this process ends, by a signal too.
#pragma once

#include <string>
#include <sys/types.h>

namespace glim {

// A shell that waits, in a process group of its own. It runs the command when this process has ended, even by SIGKILL:
// its standard input is a pipe, whose other end is closed then.
class AfterDeath {
 public:
  explicit AfterDeath(const std::string& command);  // StateError if no process can be started
  AfterDeath(const AfterDeath&) = delete;
  AfterDeath& operator=(const AfterDeath&) = delete;
  ~AfterDeath() { end_group(); }
  // Other processes may be started in the group. They are ended with it.
  pid_t group() const { return shell_; }
  void end_group();  // the command is not run

 private:
  int pipe_ = -1;
  pid_t shell_ = -1;  // -1: ended
};

}  // namespace glim
