#include "tools/data/corpus/files.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "tensor/error.hpp"

namespace glim {
namespace {

[[noreturn]] void fail(std::string_view op, const std::string& path, int reason) {
  throw FileError(op, path + ": " + std::strerror(reason));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

void read_pieces(const std::string& path, std::string_view op,
                 const std::function<void(std::string_view)>& take) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(op, path, errno);
  struct stat s {};
  if (::fstat(file.get(), &s) == 0 && S_ISCHR(s.st_mode) && !::isatty(file.get()))
    throw FileError(op, path + ": is a device, which may have no end");
  std::vector<char> buffer(std::size_t{1} << 20);
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n == 0) return;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(op, path, errno);
    take({buffer.data(), static_cast<std::size_t>(n)});
  }
}

std::string read_file(const std::string& path, std::string_view op) {
  std::string content;
  read_pieces(path, op, [&](std::string_view piece) { content += piece; });
  return content;
}

}  // namespace glim
