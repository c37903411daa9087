// Judges a student's file: right, slow, not begun, or the mistake by name.
#pragma once

#include "tools/course/exercise.hpp"

namespace glim::course {

enum class State { NotBegun, Wrong, Slow, Right };

struct Verdict {
  const Exercise* exercise = nullptr;
  State state = State::NotBegun;
  std::string file{};     // of the student; empty if there is none
  std::string mistake{};  // "a term missing: ..."; of Wrong
  std::string worst{};    // "dx[1, 0] is 0.7, expected 0.2", or empty
  std::string receipt{};  // of copy_task
  std::string similar{};  // without a file: one that is named or placed otherwise
  std::string printed{};  // by the file: lines
  double times = 0;       // of Slow: the time of the solution
  double seconds = 0;     // of the check
  bool right() const { return state == State::Right || state == State::Slow; }
  std::string text() const;  // one line
};

// The file of the exercise in a folder, or an empty path.
std::string file_in(const Exercise& e, const std::string& folder);
// ValueError if Python, NumPy or a compiler is missing.
Verdict check(const Exercise& e, const std::string& folder, std::uint64_t seed);

}  // namespace glim::course
