// What the program prints, and how it ends.
#pragma once

#include <exception>
#include <string>

namespace glim {

// Ends the program with this status; what is to be said has been said.
struct Exit : std::exception {
  explicit Exit(int s) : status(s) {}
  int status;
};

// Writes to standard output. FileError when it cannot be written (a full disk); Exit(0) when the
// reader has gone away, as `head` does.
void print(const std::string& text);
void print_line(const std::string& text);  // and flushes
void print_flush();

}  // namespace glim
