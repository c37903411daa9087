// A line from a terminal: with editing, history and completion (editline.cpp, by libedit), or as the terminal alone edits
// it (plain_lines.cpp, where a program is built without libedit).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace glim::step {

// The words that may follow: the line up to the word, and the word as far as it is typed.
using Completions =
    std::function<std::vector<std::string>(const std::string& line, const std::string& word)>;

void start_editing(Completions completions);
// Without its line end. None at the end of the input (errno 0), after a signal (EINTR) or an error (its errno).
std::optional<std::string> edited_line(const char* prompt);
void add_to_history(const std::string& line);

}  // namespace glim::step
