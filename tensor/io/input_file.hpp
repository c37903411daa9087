// A file opened for reading at any place.
//
// Errors: FileError "PATH: ..." for a file that is missing, no regular file, unreadable or shorter
// than it was.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/system/files.hpp"

namespace glim {

class InputFile {
 public:
  explicit InputFile(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  void read(std::uint64_t offset, void* into, std::size_t bytes) const;
  std::string read_text(std::uint64_t offset, std::size_t bytes) const;
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  std::string path_;
  Descriptor fd_;
  std::uint64_t size_ = 0;
};

}  // namespace glim
