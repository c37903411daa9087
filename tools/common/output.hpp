// The output of the program, and its end.
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace glim {

// Ends the program with this status, without a message.
struct Exit : std::exception {
  explicit Exit(int s) : status(s) {}
  int status;
};

// A message of any bytes as one line for a terminal. Control characters and bytes that are not UTF-8 become
// \xNN. Of more than 1,000 bytes only the beginning and the end are kept.
std::string printable(std::string_view text);

// A text as it may come from a model: what a terminal would obey, control characters and those that turn the
// direction of writing, becomes \xNN, as in printable().
std::string for_terminal(std::string_view text);

// Writes to standard output, to a terminal for_terminal() of the text. FileError when it cannot be written (a full disk). When the reader has gone
// away, as `head` does: Exit(0), or nothing is printed from then on if the program goes on without one.
void print(const std::string& text);
void print_line(const std::string& text);  // and flushes
void print_flush();
// As one line; numbers that are not finite are null, and what is not UTF-8 is U+FFFD.
void print_json(const nlohmann::ordered_json& json);

// For a verb that writes files besides.
void go_on_without_reader();

// "glim: error: TEXT" on standard error.
void report_error(const std::string& text);

// --quiet: results and errors alone are printed.
void set_quiet(bool on);
bool quiet();
// Unless quiet: a line on standard output that is no result, as of a file that was written; for_terminal() of it.
void say(const std::string& text);
// Unless quiet: "glim: note: TEXT" on standard error.
void note(const std::string& text);

}  // namespace glim
