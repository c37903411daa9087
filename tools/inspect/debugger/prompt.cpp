#include "tools/inspect/debugger/prompt.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tensor/error.hpp"
#include "tensor/system/process.hpp"
#include "tools/common/output.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/inspect/debugger/line_editor.hpp"

namespace glim::step {
namespace {

volatile std::sig_atomic_t interrupts = 0;

// Control-C, until the end of the block: it ends the line or the command at work, not the program.
class Interruptible {
 public:
  Interruptible() {
    on_interrupt([](int) { interrupts = 1; }, true);
  }
  ~Interruptible() { on_interrupt(nullptr, true); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
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
  start_editing([&](const std::string& before, const std::string& word) {
    return debugger.completions(before, word);
  });
  Interruptible interruptible;
  std::string last;
  for (;;) {
    interrupts = 0;
    const std::optional<std::string> edited = edited_line("(glim) ");
    if (!edited) {
      const int reason = errno;
      if (reason == EIO)  // the terminal has gone
        throw FileError("standard input", std::string("cannot be read: ") + std::strerror(reason));
      std::puts("");
      if (reason == EINTR) continue;
      break;
    }
    std::string line = *edited;
    if (blank(line)) {
      line = last;
    } else if (line != last) {
      add_to_history(line);
    }
    last = line;
    if (!run(debugger, line, "", failed)) break;
  }
  return 0;
}

}  // namespace glim::step
