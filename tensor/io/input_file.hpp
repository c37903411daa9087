// A file opened for reading at any place, and its elements as tensors.
//
// Errors: FileError "PATH: ..." for a file that is missing, no regular file, unreadable or shorter
// than it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/tensor.hpp"

namespace glim {

class InputFile {
 public:
  explicit InputFile(const std::string& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  void read(std::uint64_t at, void* into, std::size_t bytes) const;
  std::string read_text(std::uint64_t at, std::size_t bytes) const;
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

// How a file stores its elements. What is not a dtype of Glim is widened without loss: 16-bit
// floats to float32, the integers below 64 bits to int64.
struct Encoding {
  enum Kind { Float, Brain, Signed, Unsigned, Bool };  // Brain: bfloat16
  Kind kind;
  std::size_t size;  // bytes of an element
  bool big_endian = false;
};

DType dtype_of_encoding(const Encoding& e);

// The tensor of `shape` whose elements begin at `at`, row-major. FileError, with `what` named, for
// a bool that is neither 0 nor 1.
Tensor read_elements(const InputFile& file, std::uint64_t at, const Encoding& encoding,
                     const Shape& shape, std::string_view what);

}  // namespace glim
