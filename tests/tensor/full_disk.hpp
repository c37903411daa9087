#pragma once
#include <csignal>
#include <sys/resource.h>

#include "tensor/error.hpp"

namespace glim {

// While it lives, no file grows beyond `most` bytes: the system's limit takes the place of the disk's end.
class FullDisk {
 public:
  explicit FullDisk(rlim_t most) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    if (::getrlimit(RLIMIT_FSIZE, &before_)) throw FileError("limit", "cannot be read");
    struct rlimit small = before_;
    small.rlim_cur = most;
    if (::setrlimit(RLIMIT_FSIZE, &small)) throw FileError("limit", "cannot be set");
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  struct rlimit before_ {};
  void (*handler_)(int);
};

}  // namespace glim
