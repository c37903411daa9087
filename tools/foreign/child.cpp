#include "tools/foreign/child.hpp"

#include <algorithm>
#include <system_error>

#include "tensor/clock.hpp"
#include "tensor/error.hpp"
#include "tensor/print.hpp"

namespace glim::foreign {
namespace {

using Kind = ProgramError::Kind;

[[noreturn]] void fail(const std::string& problem, Kind kind = Kind::Senseless) {
  throw ProgramError({.kind = kind, .problem = problem});
}

constexpr std::size_t kLongestLine = std::size_t{256} << 20, kKeptErrors = 4096;

// The last lines that are not empty, without the spaces around them.
std::vector<std::string> last_lines(std::string text, std::size_t most) {
  constexpr const char* kSpaces = " \t\r\n";
  std::vector<std::string> lines;
  while (lines.size() < most && text.find_last_not_of(kSpaces) != text.npos) {
    text.erase(text.find_last_not_of(kSpaces) + 1);
    const std::size_t begin = text.rfind('\n') + 1;
    lines.insert(lines.begin(), text.substr(text.find_first_not_of(kSpaces, begin)));
    text.erase(begin);
  }
  return lines;
}

}  // namespace

Child::Child(const std::string& command) {
  try {
    process_ = std::make_unique<ChildProcess>(command);
  } catch (const std::system_error& error) {
    fail(error.what(), Kind::NotStarted);
  }
}

bool Child::exchange(std::string_view& input, double until) {
  try {
    const double seconds = std::max(0.0, until - seconds_now());
    if (!process_->exchange(input, output_, errors_, seconds)) return false;
  } catch (const std::system_error& error) {
    fail(error.what());
  }
  if (errors_.size() > kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
  return true;
}

void Child::fail_ended() {
  std::string problem = "it ";
  ProgramError::Cause cause{.kind = Kind::Ended};
  const bool ended = process_->ended(1);
  const ChildProcess::Ending& ending = process_->ending();
  if (!ended) {
    problem += "closed its standard output";
  } else if (ending.signal != 0) {
    cause.kind = Kind::Signalled;
    problem += "was ended by a signal (" + ending.signal_name + ")";
  } else {
    problem += "ended with status " + std::to_string(ending.status);
  }
  std::string_view nothing;
  for (int i = 0; i < 16 && exchange(nothing, 0); ++i) {  // what is there; it may never end
  }
  const std::vector<std::string> lines = last_lines(errors_, 3);
  cause.ending = ending;
  cause.problem = problem;
  for (const std::string& line : lines) {
    cause.problem += (cause.says.empty() ? ", and says: " : " | ") + line;
    cause.says = line;
  }
  throw ProgramError(cause);
}

std::string Child::ask(const std::string& line, double seconds) {
  const double until = seconds_now() + seconds;
  if (!output_.empty()) fail("it prints more than one line for a request");
  const std::string request = line + "\n";
  std::string_view unsent = request;
  std::size_t end = std::string::npos;
  while (end == std::string::npos) {
    if (process_->output_ended()) fail_ended();
    const std::size_t before = output_.size();
    if (!exchange(unsent, until))
      fail("no reply within " + number_text(seconds) +
               " s (--timeout); a reply is a line, and is flushed",
           Kind::Silent);
    end = output_.find('\n', before);
    if (output_.size() > kLongestLine && end == std::string::npos)
      fail("it prints " + std::to_string(kLongestLine >> 20) + " MB without an end of line");
  }
  std::string reply = output_.substr(0, end);
  output_.erase(0, end + 1);
  return reply;
}

std::pair<std::string, int> Child::finish(double seconds) {
  const double until = seconds_now() + seconds;
  std::string_view nothing;
  process_->close_input();
  while (!process_->output_ended())
    if (!exchange(nothing, until))
      fail("it has not ended after " + number_text(seconds) + " s", Kind::Silent);
  if (!process_->ended(seconds))
    fail("it closed its standard output, and has not ended", Kind::Silent);
  return {output_, process_->ending().status};
}

}  // namespace glim::foreign
