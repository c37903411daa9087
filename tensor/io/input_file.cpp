#include "tensor/io/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

#include "tensor/error.hpp"

namespace glim {

// A pipe must not block here.
InputFile::InputFile(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_.get() < 0) fail(std::string("cannot open: ") + std::strerror(errno));
  struct stat s {};
  if (::fstat(fd_.get(), &s) != 0 || !S_ISREG(s.st_mode))
    fail(S_ISDIR(s.st_mode) ? "is a directory" : "is not a regular file");
  size_ = static_cast<std::uint64_t>(s.st_size);
  char byte;
  const ssize_t first = size_ == 0 ? ::pread(fd_.get(), &byte, 1, 0) : 0;
  if (first < 0) fail(std::string("cannot be read: ") + std::strerror(errno));  // /proc/self/mem
  if (first > 0) fail("does not say how long it is, as files of /proc: copy it, and name the copy");
}

void InputFile::fail(const std::string& problem) const { throw FileError(path_, problem); }

void InputFile::read(std::uint64_t offset, void* into, std::size_t bytes) const {
  auto p = static_cast<char*>(into);
  while (bytes > 0) {
    ssize_t n = ::pread(fd_.get(), p, std::min<std::size_t>(bytes, std::size_t{1} << 30),
                        static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(std::string("cannot read: ") + std::strerror(errno));
    if (n == 0) fail("is truncated: it ends at byte " + std::to_string(offset));
    p += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= n;
  }
}

std::string InputFile::read_text(std::uint64_t offset, std::size_t bytes) const {
  std::string s(bytes, '\0');
  read(offset, s.data(), bytes);
  return s;
}

}  // namespace glim
