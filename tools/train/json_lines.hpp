// A file of JSON objects, one a line, that grows as a run goes on; each line is whole in the file as
// soon as it is written.
//
// A run that goes on from step n keeps the lines whose "step" is n at most, and writes the later ones
// again. A line cut short by a kill, and what has no "step", is dropped.
//
// Errors: FileError "PATH: cannot write: REASON".
#pragma once

#include <string>

#include "tensor/shape.hpp"

namespace glim {

class JsonLines {
 public:
  // from_step 0 starts a new file. `head`, if any, is the first line, before those that are kept.
  JsonLines(std::string path, Index from_step, const std::string& head = {});
  ~JsonLines();
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  void write(const std::string& line);  // without its end

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace glim
