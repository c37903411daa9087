#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/system/files.hpp"

namespace glim {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a call

FileStatus described(const struct stat& s, int fd) {
  FileStatus status{FileType::Other, static_cast<std::uint64_t>(s.st_size),
                    static_cast<int>(s.st_mode & 07777)};
  if (S_ISREG(s.st_mode)) status.type = FileType::Regular;
  if (S_ISDIR(s.st_mode)) status.type = FileType::Folder;
  if (S_ISCHR(s.st_mode)) status.type = ::isatty(fd) ? FileType::Terminal : FileType::Device;
  return status;
}

template <class F>
std::ptrdiff_t repeated(const F& f) {
  for (;;)
    if (const std::ptrdiff_t n = f(); n >= 0 || errno != EINTR) return n;
}

bool has_name(int fd) {
  struct stat s {};
  return ::fstat(fd, &s) != 0 || s.st_nlink > 0;
}

}  // namespace

int open_file(const std::string& path, Access access) {
  switch (access) {
    case Access::Read:
      return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    case Access::ReadAtOnce:
      return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    case Access::Write:
      return ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    case Access::Append:
      return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    case Access::Replace:
      break;
  }
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC, 0666);
}
int open_standard_input() { return ::dup(STDIN_FILENO); }
int close_file(int fd) { return ::close(fd); }

std::ptrdiff_t read_some(int fd, void* into, std::size_t bytes) {
  return repeated([&] { return ::read(fd, into, std::min(bytes, kMostBytes)); });
}
std::ptrdiff_t read_at(int fd, void* into, std::size_t bytes, std::uint64_t offset) {
  return repeated(
      [&] { return ::pread(fd, into, std::min(bytes, kMostBytes), static_cast<off_t>(offset)); });
}
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::ptrdiff_t n =
        repeated([&] { return ::write(fd, bytes.data(), std::min(bytes.size(), kMostBytes)); });
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

FileStatus status_of(int fd) {
  struct stat s {};
  return ::fstat(fd, &s) == 0 ? described(s, fd) : FileStatus{};
}
FileStatus status_of(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 ? described(s, -1) : FileStatus{};
}

// The lock tells a writer at work from one that was killed. A file system without locks only loses the sweeping.
int create_temporary(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return fd;
  ::flock(fd, LOCK_EX);
  if (has_name(fd)) return fd;
  ::close(fd);  // swept before the lock
  errno = EEXIST;
  return -1;
}
void remove_abandoned(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) std::remove(path.c_str());
}
void set_permissions(int fd, const FileStatus& status) {
  ::fchmod(fd, static_cast<mode_t>(status.permissions));  // where the file system has modes
}
bool replace_file(Descriptor&, const std::string& source, const std::string& target) {
  return ::rename(source.c_str(), target.c_str()) == 0;
}
bool remove_file(const std::string& path) { return ::unlink(path.c_str()) == 0; }

bool make_private_folder(const std::string& path) {
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}
bool remove_empty_folder(const std::string& path) { return ::rmdir(path.c_str()) == 0; }
bool make_temporary_folder(std::string& path) { return ::mkdtemp(path.data()) != nullptr; }
bool list_folder(const std::string& path, std::vector<std::string>& names) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return false;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (!entry) return errno == 0;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}
// Some file systems cannot flush a folder: they say EINVAL.
bool flush_folder(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.get() >= 0 && (::fsync(fd.get()) == 0 || errno == EINVAL);
}
int lock_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  const bool held = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!held && has_name(fd)) return fd;
  ::close(fd);
  errno = held ? EBUSY : EIDRM;
  return -1;
}

}  // namespace glim
