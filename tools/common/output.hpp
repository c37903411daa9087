// What the program prints, and how it ends.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace glim {

// Ends the program with this status; what is to be said has been said.
struct Exit : std::exception {
  explicit Exit(int s) : status(s) {}
  int status;
};

// A message of any bytes as one line for a terminal: control characters and what is not UTF-8 as \xNN, and of
// more than 1,000 bytes the beginning and the end.
std::string printable(std::string_view text);

// Writes to standard output. FileError when it cannot be written (a full disk); Exit(0) when the
// reader has gone away, as `head` does.
void print(const std::string& text);
void print_line(const std::string& text);  // and flushes
void print_flush();

}  // namespace glim
