#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <editline/readline.h>
#include <memory>

#include "tools/inspect/debugger/line_editor.hpp"

namespace glim::step {
namespace {

// libedit calls functions without a context of their own.
Completions completions_of;
std::vector<std::string> candidates;

char* next_candidate(const char*, int state) {
  static std::size_t position = 0;
  if (state == 0) position = 0;
  return position < candidates.size() ? ::strdup(candidates[position++].c_str()) : nullptr;
}

char** complete(const char* word, int start, int) {
  ::rl_attempted_completion_over = 1;  // no names of files
  candidates = completions_of(
      std::string(::rl_line_buffer).substr(0, static_cast<std::size_t>(start)), word);
  return ::rl_completion_matches(word, next_candidate);
}

}  // namespace

void start_editing(Completions completions) {
  completions_of = std::move(completions);
  ::rl_readline_name = const_cast<char*>("glim");
  ::rl_initialize();
  ::rl_attempted_completion_function = complete;
  ::rl_completer_word_break_characters = const_cast<char*>(" \t");
}

std::optional<std::string> edited_line(const char* prompt) {
  errno = 0;
  std::unique_ptr<char, void (*)(void*)> line(::readline(prompt), std::free);
  return line ? std::optional<std::string>(line.get()) : std::nullopt;
}

void add_to_history(const std::string& line) { ::add_history(line.c_str()); }

}  // namespace glim::step
