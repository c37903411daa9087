// A library to preload (LD_PRELOAD): it writes down what a program does to the files below a folder.
//
//   RECORD_ROOT   the folder, an absolute path; the program runs in it
//   RECORD_LOG    the record: a line "NAME DESCRIPTOR NUMBER PATH BYTES", then so many bytes, for each call that
//                 succeeded; "-" is written where a call has no path
//
//   open D FLAGS PATH    write D OFFSET + bytes    truncate D SIZE    sync D    close D
//   rename - - FROM + TO    unlink - - PATH    mkdir - - PATH    rmdir - - PATH
//   look D or PATH: the program asks for a file's bytes, its size or its times
//
// Writes of stdio to a file it opened itself are not seen; crashes.py finds them by the bytes missing in the end.
#undef _FILE_OFFSET_BITS  // it would give open and open64 one name; both are wanted
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr int kMost = 4096;
bool watched[kMost];  // descriptors of files below the root
int log_fd = -1;
std::string root;

struct Start {
  Start() {
    const char *folder = std::getenv("RECORD_ROOT"), *path = std::getenv("RECORD_LOG");
    if (!folder || !path) return;
    root = std::string(folder) + "/";
    log_fd = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  }
} start;

template <class F>
F* real(F*, const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}
#define REAL(name) static auto* const next = real(&::name, #name)

// The path from the root on; "" for one that is not below it.
std::string below(const char* path) {
  if (path[0] != '/') return path;
  const std::string whole = path;
  if (whole + "/" == root) return ".";
  return whole.starts_with(root) ? whole.substr(root.size()) : "";
}

void put(const void* data, std::size_t bytes) {
  for (auto p = static_cast<const char*>(data); bytes > 0;) {
    const long n = ::syscall(SYS_write, log_fd, p, bytes);
    if (n <= 0) std::abort();
    p += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void record(const char* name, int fd, long number, const std::string& path,
            const void* data = nullptr, std::size_t bytes = 0) {
  const int error = errno;
  std::string line = std::string(name) + " " + std::to_string(fd) + " " + std::to_string(number) +
                     " " + (path.empty() ? "-" : path) + " " + std::to_string(bytes) + "\n";
  line.append(static_cast<const char*>(data), bytes);
  put(line.data(), line.size());
  errno = error;
}

bool is_watched(int fd) { return log_fd >= 0 && fd >= 0 && fd < kMost && watched[fd]; }

int opened(int fd, const char* path, int flags) {
  if (log_fd < 0 || fd < 0 || fd >= kMost) return fd;
  const std::string name = below(path);
  watched[fd] = !name.empty();
  if (watched[fd]) record("open", fd, flags, name);
  return fd;
}

void name_call(int status, const char* call, const char* path, const char* to = nullptr) {
  if (log_fd < 0 || status != 0) return;
  const std::string from = below(path), into = to ? below(to) : "";
  if (from.empty()) return;
  record(call, -1, 0, from, into.data(), into.size());
}

void written(int fd, long bytes, const void* data) {
  if (is_watched(fd) && bytes > 0)
    record("write", fd, ::lseek(fd, 0, SEEK_CUR) - bytes, "", data,
           static_cast<std::size_t>(bytes));
}

void look(int fd) {
  if (is_watched(fd)) record("look", fd, 0, "");
}

void look(const char* path) {
  if (log_fd < 0 || !path) return;
  if (const std::string name = below(path); !name.empty()) record("look", -1, 0, name);
}

mode_t mode_of(int flags, va_list arguments) {
  return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

#define OPEN(name)                                       \
  int name(const char* path, int flags, ...) {           \
    REAL(name);                                          \
    va_list arguments;                                   \
    va_start(arguments, flags);                          \
    const mode_t mode = mode_of(flags, arguments);       \
    va_end(arguments);                                   \
    return opened(next(path, flags, mode), path, flags); \
  }
OPEN(open)
OPEN(open64)

ssize_t read(int fd, void* to, std::size_t bytes) {
  REAL(read);
  look(fd);
  return next(fd, to, bytes);
}

ssize_t readv(int fd, const iovec* parts, int count) {
  REAL(readv);
  look(fd);
  return next(fd, parts, count);
}

#define PREAD(name, offset)                                        \
  ssize_t name(int fd, void* to, std::size_t bytes, offset from) { \
    REAL(name);                                                    \
    look(fd);                                                      \
    return next(fd, to, bytes, from);                              \
  }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

#define MMAP(name, offset)                                                   \
  void* name(void* at, std::size_t bytes, int protection, int flags, int fd, \
             offset from) noexcept {                                         \
    REAL(name);                                                              \
    look(fd);                                                                \
    return next(at, bytes, protection, flags, fd, from);                     \
  }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

#define FOPEN(name)                                \
  FILE* name(const char* path, const char* mode) { \
    REAL(name);                                    \
    look(path);                                    \
    return next(path, mode);                       \
  }
FOPEN(fopen)
FOPEN(fopen64)

#define STAT(name, what, type)                    \
  int name(what file, struct type* to) noexcept { \
    REAL(name);                                   \
    look(file);                                   \
    return next(file, to);                        \
  }
STAT(stat, const char*, stat)
STAT(lstat, const char*, stat)
STAT(fstat, int, stat)
STAT(stat64, const char*, stat64)
STAT(lstat64, const char*, stat64)
STAT(fstat64, int, stat64)

int close(int fd) {
  REAL(close);
  if (is_watched(fd)) {
    record("close", fd, 0, "");
    watched[fd] = false;
  }
  return next(fd);
}

ssize_t write(int fd, const void* data, std::size_t bytes) {
  REAL(write);
  const ssize_t n = next(fd, data, bytes);
  written(fd, n, data);
  return n;
}

ssize_t writev(int fd, const iovec* parts, int count) {
  if (!is_watched(fd)) {
    REAL(writev);
    return next(fd, parts, count);
  }
  std::string whole;
  for (int i = 0; i < count; ++i)
    whole.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  return write(fd, whole.data(), whole.size());
}

int fsync(int fd) {
  REAL(fsync);
  const int status = next(fd);
  if (status == 0 && is_watched(fd)) record("sync", fd, 0, "");
  return status;
}

int fdatasync(int fd) {
  REAL(fdatasync);
  const int status = next(fd);
  if (status == 0 && is_watched(fd)) record("sync", fd, 0, "");
  return status;
}

int ftruncate(int fd, off_t size) noexcept {
  REAL(ftruncate);
  const int status = next(fd, size);
  if (status == 0 && is_watched(fd)) record("truncate", fd, size, "");
  return status;
}

int ftruncate64(int fd, off64_t size) noexcept {
  REAL(ftruncate64);
  const int status = next(fd, size);
  if (status == 0 && is_watched(fd)) record("truncate", fd, size, "");
  return status;
}

int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  const int status = next(from, to);
  name_call(status, "rename", from, to);
  return status;
}

int unlink(const char* path) noexcept {
  REAL(unlink);
  const int status = next(path);
  name_call(status, "unlink", path);
  return status;
}

int rmdir(const char* path) noexcept {
  REAL(rmdir);
  const int status = next(path);
  name_call(status, "rmdir", path);
  return status;
}

int remove(const char* path) noexcept {
  REAL(remove);
  struct stat s {};
  const bool folder = ::lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
  const int status = next(path);
  name_call(status, folder ? "rmdir" : "unlink", path);
  return status;
}

int mkdir(const char* path, mode_t mode) noexcept {
  REAL(mkdir);
  const int status = next(path, mode);
  name_call(status, "mkdir", path);
  return status;
}

char* mkdtemp(char* path) noexcept {
  REAL(mkdtemp);
  char* made = next(path);
  if (made) name_call(0, "mkdir", made);
  return made;
}
}
