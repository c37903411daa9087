#include "tools/inspect/debugger/prompt.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <editline/readline.h>
#include <memory>

#include "tensor/error.hpp"
#include "tools/common/output.hpp"
#include "tools/data/corpus/corpus.hpp"

namespace glim::step {
namespace {

// libedit calls functions without a context of their own.
const Debugger* completing = nullptr;
std::vector<std::string> candidates;

char* next_candidate(const char*, int state) {
  static std::size_t position = 0;
  if (state == 0) position = 0;
  return position < candidates.size() ? ::strdup(candidates[position++].c_str()) : nullptr;
}

char** complete(const char* word, int start, int) {
  ::rl_attempted_completion_over = 1;  // no names of files
  if (!completing) return nullptr;
  candidates = completing->completions(
      std::string(::rl_line_buffer).substr(0, static_cast<std::size_t>(start)), word);
  return ::rl_completion_matches(word, next_candidate);
}

volatile std::sig_atomic_t interrupts = 0;

// Control-C, until the end of the block: it ends the line or the command at work, not the program.
class Interruptible {
 public:
  Interruptible() {
    struct sigaction mark {};
    mark.sa_handler = [](int) { interrupts = 1; };
    ::sigaction(SIGINT, &mark, &before_);
  }
  ~Interruptible() { ::sigaction(SIGINT, &before_, nullptr); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction before_ {};
};

bool blank(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

// One line, its error said; false to leave.
bool run(Debugger& debugger, const std::string& line, const std::string& place, bool& failed) {
  try {
    return debugger.run(line);
  } catch (const Error& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", printable(place + e.one_line()).c_str());
    failed = true;
    return true;
  }
}

}  // namespace

bool interrupted() { return interrupts != 0; }

int converse(Debugger& debugger, bool terminal) {
  bool failed = false;
  if (!terminal) {
    std::string line;
    for (int number = 1; next_line(stdin, line); ++number) {
      auto first = line.find_first_not_of(" \t\r");
      if (first == std::string::npos || line[first] == '#') continue;
      if (!run(debugger, line, "line " + std::to_string(number) + ": ", failed)) break;
    }
    return failed ? 1 : 0;
  }
  completing = &debugger;
  ::rl_readline_name = const_cast<char*>("glim");
  ::rl_initialize();
  ::rl_attempted_completion_function = complete;
  ::rl_completer_word_break_characters = const_cast<char*>(" \t");
  Interruptible interruptible;
  std::string last;
  for (;;) {
    interrupts = 0;
    errno = 0;
    std::unique_ptr<char, void (*)(void*)> read(::readline("(glim) "), std::free);
    if (!read) {
      const int reason = errno;
      if (reason == EIO)  // the terminal has gone
        throw FileError("standard input", std::string("cannot be read: ") + std::strerror(reason));
      std::puts("");
      if (reason == EINTR) continue;
      break;
    }
    std::string line = read.get();
    if (blank(line)) {
      line = last;
    } else if (line != last) {
      ::add_history(line.c_str());
    }
    last = line;
    if (!run(debugger, line, "", failed)) break;
  }
  completing = nullptr;
  return 0;
}

}  // namespace glim::step
