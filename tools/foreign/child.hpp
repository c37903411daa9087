// A program that answers lines: each line of its standard input gets one line of its standard output.
#pragma once

#include <string>
#include <utility>

#include "tensor/error.hpp"
#include "tensor/system/child.hpp"

namespace glim::foreign {

// A program that gives no reply, or none that makes sense.
struct ProgramError : ValueError {
  enum class Kind { NotStarted, Silent, Ended, Signalled, Senseless };
  struct Cause {
    Kind kind = Kind::Senseless;
    std::string problem{};  // without what it was asked
    std::string says{};     // the last line of its standard error
    ChildProcess::Ending ending{};
  };
  explicit ProgramError(Cause why, const std::string& request = "")
      : ValueError("--program", request + why.problem), cause(std::move(why)) {}
  Cause cause;
};

class Child {
 public:
  // ProgramError if it does not start.
  explicit Child(const std::string& command);

  // Sends a line and returns the reply, without its end. ProgramError when there is none within `seconds`; the child is
  // of no use after that.
  std::string ask(const std::string& line, double seconds);
  // Closes its input. Returns what it prints until its end, and its status.
  std::pair<std::string, int> finish(double seconds);

 private:
  // Exchanges bytes until they pass. Keeps the last of its errors only. False when seconds_now() reaches `until`.
  bool exchange(std::string_view& input, double until);
  [[noreturn]] void fail_ended();

  std::unique_ptr<ChildProcess> process_;
  std::string output_, errors_;
};

}  // namespace glim::foreign
