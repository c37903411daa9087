#include "tensor/io/input_file.hpp"

#include <cerrno>
#include <cstring>

#include "tensor/error.hpp"

namespace glim {

InputFile::InputFile(const std::string& path)
    : path_(path), fd_(open_file(path, Access::ReadAtOnce)) {
  if (fd_.get() < 0) fail(std::string("cannot open: ") + std::strerror(errno));
  const FileStatus status = status_of(fd_.get());
  if (status.type != FileType::Regular)
    fail(status.type == FileType::Folder ? "is a directory" : "is not a regular file");
  size_ = status.size;
  char byte;
  const std::ptrdiff_t first = size_ == 0 ? read_at(fd_.get(), &byte, 1, 0) : 0;
  if (first < 0) fail(std::string("cannot be read: ") + std::strerror(errno));  // /proc/self/mem
  if (first > 0) fail("does not say how long it is, as files of /proc: copy it, and name the copy");
}

void InputFile::fail(const std::string& problem) const { throw FileError(path_, problem); }

void InputFile::read(std::uint64_t offset, void* into, std::size_t bytes) const {
  auto p = static_cast<char*>(into);
  while (bytes > 0) {
    const std::ptrdiff_t n = read_at(fd_.get(), p, bytes, offset);
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
