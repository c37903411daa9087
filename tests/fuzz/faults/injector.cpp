// A library to preload (LD_PRELOAD): it counts a program's calls of the system from main() on, and lets
// them fail (fault.hpp).
//
//   allocate   malloc, calloc, realloc, aligned_alloc, posix_memalign; by them operator new
//   open       open, openat, fopen, opendir, mkdtemp          read     read, pread, readv
//   write      write, pwrite, writev                          print    fwrite and fflush to standard output
//   sync       fsync, fdatasync                               rename   rename
//   remove     unlink, rmdir, remove                          folder   mkdir
//   map        mmap                                           status   stat, lstat, fstat, access
//   lock       flock                                          close    close
#undef _FILE_OFFSET_BITS  // it would give open and open64 one name; both are wanted
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/fuzz/faults/fault.hpp"

// glibc's own, below malloc and its like.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

using namespace glim::fuzz;

template <class F>
F* real(F*, const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}
// The call that follows this library's, and how it fails.
#define REAL(name) static auto* const next = real(&::name, #name)
#define FAIL(kind, result) \
  if (fails(kind)) return result

int (*program)(int, char**, char**);
int counted_main(int argc, char** argv, char** environment) {
  glim::fuzz::start_counting();
  return program(argc, argv, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*loader_fini)(), void* stack_end) {
  using Start =
      int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* next = reinterpret_cast<Start*>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  program = main;
  return next(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}

void* malloc(std::size_t n) noexcept {
  FAIL(Allocate, nullptr);
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) noexcept {
  FAIL(Allocate, nullptr);
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) noexcept {
  FAIL(Allocate, nullptr);
  return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
  FAIL(Allocate, nullptr);
  return __libc_memalign(alignment, n);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t n) noexcept {
  FAIL(Allocate, ENOMEM);
  void* made = __libc_memalign(alignment, n);
  if (!made) return ENOMEM;
  *p = made;
  return 0;
}

#define OPEN(name)                                                       \
  int name(const char* path, int flags, ...) {                           \
    FAIL(Open, -1);                                                      \
    REAL(name);                                                          \
    va_list arguments;                                                   \
    va_start(arguments, flags);                                          \
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments);                                                   \
    return next(path, flags, mode);                                      \
  }
OPEN(open)
OPEN(open64)
#define OPENAT(name)                                                     \
  int name(int at, const char* path, int flags, ...) {                   \
    FAIL(Open, -1);                                                      \
    REAL(name);                                                          \
    va_list arguments;                                                   \
    va_start(arguments, flags);                                          \
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments);                                                   \
    return next(at, path, flags, mode);                                  \
  }
OPENAT(openat)
OPENAT(openat64)
FILE* fopen(const char* path, const char* mode) {
  FAIL(Open, nullptr);
  REAL(fopen);
  return next(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  FAIL(Open, nullptr);
  REAL(fopen64);
  return next(path, mode);
}
DIR* opendir(const char* path) {
  FAIL(Open, nullptr);
  REAL(opendir);
  return next(path);
}
char* mkdtemp(char* path) noexcept {
  FAIL(Open, nullptr);
  REAL(mkdtemp);
  return next(path);
}

ssize_t read(int fd, void* into, std::size_t bytes) {
  if (fails(Read, &bytes)) return -1;
  REAL(read);
  return next(fd, into, bytes);
}
#define PREAD(name, offset)                                        \
  ssize_t name(int fd, void* into, std::size_t bytes, offset at) { \
    if (fails(Read, &bytes)) return -1;                            \
    REAL(name);                                                    \
    return next(fd, into, bytes, at);                              \
  }
PREAD(pread, off_t)
PREAD(pread64, off64_t)
ssize_t readv(int fd, const iovec* parts, int count) {
  FAIL(Read, -1);
  REAL(readv);
  return next(fd, parts, count);
}

ssize_t write(int fd, const void* data, std::size_t bytes) {
  if (fails(Write, &bytes)) return -1;
  REAL(write);
  return next(fd, data, bytes);
}
ssize_t writev(int fd, const iovec* parts, int count) {
  FAIL(Write, -1);
  REAL(writev);
  return next(fd, parts, count);
}
std::size_t fwrite(const void* data, std::size_t size, std::size_t n, FILE* file) {
  if (file == stdout) FAIL(Print, 0);
  REAL(fwrite);
  return next(data, size, n, file);
}
int fflush(FILE* file) {
  if (file == stdout) FAIL(Print, EOF);
  REAL(fflush);
  return next(file);
}

int fsync(int fd) {
  FAIL(Sync, -1);
  REAL(fsync);
  return next(fd);
}
int fdatasync(int fd) {
  FAIL(Sync, -1);
  REAL(fdatasync);
  return next(fd);
}
int rename(const char* from, const char* to) noexcept {
  FAIL(Rename, -1);
  REAL(rename);
  return next(from, to);
}
int unlink(const char* path) noexcept {
  FAIL(Remove, -1);
  REAL(unlink);
  return next(path);
}
int rmdir(const char* path) noexcept {
  FAIL(Remove, -1);
  REAL(rmdir);
  return next(path);
}
int remove(const char* path) noexcept {
  FAIL(Remove, -1);
  REAL(remove);
  return next(path);
}
int mkdir(const char* path, mode_t mode) noexcept {
  FAIL(Folder, -1);
  REAL(mkdir);
  return next(path, mode);
}
#define MMAP(name, offset)                                                   \
  void* name(void* at, std::size_t bytes, int protection, int flags, int fd, \
             offset from) noexcept {                                         \
    FAIL(Map, MAP_FAILED);                                                   \
    REAL(name);                                                              \
    return next(at, bytes, protection, flags, fd, from);                     \
  }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)
#define STATUS(name, of, type)                  \
  int name(of where, struct type* s) noexcept { \
    FAIL(Status, -1);                           \
    REAL(name);                                 \
    return next(where, s);                      \
  }
STATUS(stat, const char*, stat)
STATUS(stat64, const char*, stat64)
STATUS(lstat, const char*, stat)
STATUS(lstat64, const char*, stat64)
STATUS(fstat, int, stat)
STATUS(fstat64, int, stat64)
int access(const char* path, int mode) noexcept {
  FAIL(Status, -1);
  REAL(access);
  return next(path, mode);
}
int flock(int fd, int operation) noexcept {
  FAIL(Locking, -1);
  REAL(flock);
  return next(fd, operation);
}
// A close that fails has closed all the same, as Linux does.
int close(int fd) {
  REAL(close);
  const bool failing = fails(Close);
  const int error = errno, status = next(fd);
  return failing ? (errno = error, -1) : status;
}
}
