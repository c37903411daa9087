// A program that answers lines: each line of its standard input gets one line of its standard output.
#pragma once

#include <string>
#include <sys/types.h>
#include <utility>

#include "tensor/error.hpp"
#include "tensor/system/after_death.hpp"

namespace glim::foreign {

// A program that gives no reply, or none that makes sense.
struct ProgramError : ValueError {
  enum class Kind { NotStarted, Silent, Ended, Signalled, Senseless };
  struct Cause {
    Kind kind = Kind::Senseless;
    std::string problem{};       // without what it was asked
    std::string says{};          // the last line of its standard error
    int signal = 0, status = 0;  // with which it ended
    double seconds = 0;          // of processor time
  };
  explicit ProgramError(Cause why, const std::string& request = "")
      : ValueError("--program", request + why.problem), cause(std::move(why)) {}
  Cause cause;
};

class Child {
 public:
  // Run by /bin/sh, in a process group of its own. This process ignores SIGPIPE from then on. When it ends, by whatever
  // signal, the child is ended, and all that is in its group. ProgramError if it does not start.
  explicit Child(const std::string& command);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // closes its input; ends it, and all that it started, a second later

  // Sends a line and returns the reply, without its end. ProgramError when there is none within `seconds`; the child is
  // of no use after that.
  std::string ask(const std::string& line, double seconds);
  // Closes its input. Returns what it prints until its end, and its status as of waitpid.
  std::pair<std::string, int> finish(double seconds);

 private:
  struct Descriptor {
    ~Descriptor() { reset(); }
    void reset();
    int fd = -1;
  };
  bool read_some(Descriptor& source, std::string& target);
  void read_errors();
  bool ended(double seconds);  // and reaped
  [[noreturn]] void fail_ended();

  Descriptor in_, out_, err_;  // of the child; in_ is written to
  std::string output_, errors_;
  AfterDeath group_;
  pid_t pid_ = -1;  // -1: reaped
  int status_ = 0;
  double seconds_ = 0;  // of processor time, once reaped
};

}  // namespace glim::foreign
