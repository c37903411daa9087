// Runs the functions of a student's file, each in a process of its own (runner.py, runner.cpp).
#pragma once

#include <exception>
#include <memory>

#include "tools/common/folder.hpp"
#include "tools/course/exercise.hpp"
#include "tools/foreign/program.hpp"

namespace glim::course {

// The student's file cannot be run.
struct Mistaken : std::exception {
  explicit Mistaken(std::string what) : text(std::move(what)) {}
  std::string text;
};

// The check cannot be made, whatever the student's file has in it.
struct MachineError : ValueError {
  explicit MachineError(const std::string& problem) : ValueError("course", problem) {}
};

class Runner {
 public:
  // Compiles a file of C++. `parts` is the folder of files that it includes, if that is another. Mistaken if it does not
  // compile; MachineError without a compiler or the library, and if the solution does not compile either.
  Runner(const Exercise& e, const std::string& path, const std::string& parts = ".");
  // A process that runs a function. `frame` is a program in which the student's function is put, or which has one (`mode` "own").
  foreign::Program program(const std::string& function, double seconds,
                           const std::string& seed = "", const std::string& frame = "",
                           const std::string& mode = "") const;
  bool compiled() const { return compiled_; }
  // The first lines that the file printed in its first calls; long ones are cut.
  std::string printed() const;

 private:
  SharedPipe printed_;
  std::string path_;
  bool compiled_;
  TemporaryFolder folder_;  // of the compiled program, or of what Python runs
};

std::string python();
// The output of a command, and its status. It ends when this process does.
std::pair<std::string, int> output_of(const std::string& command, double seconds = 600);
// The runner's own line about a wrong file. MachineError if it is not the file's fault.
std::string said(const foreign::ProgramError& error, const std::string& file);

}  // namespace glim::course
