#include <cerrno>
#include <cstdio>

#include "tools/inspect/debugger/line_editor.hpp"

namespace glim::step {

void start_editing(Completions) {}

std::optional<std::string> edited_line(const char* prompt) {
  std::fputs(prompt, stdout);
  std::fflush(stdout);
  std::string line;
  errno = 0;
  std::clearerr(stdin);
  for (int c; (c = std::getc(stdin)) != '\n'; line += static_cast<char>(c))
    if (c == EOF) {
      if (errno != 0 || line.empty()) return std::nullopt;
      break;
    }
  return line;
}

void add_to_history(const std::string&) {}

}  // namespace glim::step
