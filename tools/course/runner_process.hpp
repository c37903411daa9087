// Runs the functions of a student's file, each in a process of its own (runner.py, runner.cpp).
#pragma once

#include <exception>
#include <memory>

#include "tools/common/folder.hpp"
#include "tools/course/exercise.hpp"

namespace glim::course {

// The student's file cannot be run.
struct Mistaken : std::exception {
  explicit Mistaken(std::string what) : text(std::move(what)) {}
  std::string text;
};

class Runner {
 public:
  // Compiles a file of C++. `parts` is the folder of files that it includes, if that is another. Mistaken if it does not
  // compile; ValueError without a compiler or the library.
  Runner(const Exercise& e, const std::string& path, const std::string& parts = ".");
  // The command for foreign::Program. `given` is a program in which the student's function is put, or which has its
  // `own`.
  std::string command(const std::string& function, const std::string& given = "",
                      const std::string& own = "") const;
  bool compiled() const { return folder_ != nullptr; }

 private:
  std::string path_;
  std::unique_ptr<TemporaryFolder> folder_;
};

std::string python();
// The output of a command, and its status.
std::pair<std::string, int> output_of(const std::string& command);
// The runner's own line in an error of Program. ValueError if Python or NumPy is missing.
std::string said(const std::string& problem, const std::string& file);

}  // namespace glim::course
