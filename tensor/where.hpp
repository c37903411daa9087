// The line of a call, which a function takes as its last argument:
//
//   void fill_(double value, Where where = Where::current());
#pragma once

#include <string>

namespace glim {

// std::source_location without what clang 14 lacks for it.
class Where {
 public:
  static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Where(file, line);
  }
  constexpr Where() = default;
  constexpr const char* file_name() const { return file_; }
  constexpr int line() const { return line_; }

 private:
  constexpr Where(const char* file, int line) : file_(file), line_(line) {}
  const char* file_ = "";
  int line_ = 0;
};
std::string to_string(const Where& where);  // "attention.cpp:41"

}  // namespace glim
