// A file of JSON objects, one per line, that grows during a run. Each line is written whole.
//
// A run that resumes at step n keeps the lines whose "step" is at most n and writes the later ones again.
// Lines that a kill cut short and lines without "step" are dropped.
//
// Errors: FileError "PATH: cannot write: REASON".
#pragma once

#include <string>

#include "tensor/shape.hpp"

namespace glim {

class JsonLines {
 public:
  // from_step 0 starts a new file. `head`, if any, is the first line, before the kept ones.
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
