#include "tests/fuzz/faults/fault.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fuzz/faults/copy.hpp"

namespace glim::fuzz {
namespace {

constexpr const char* kNames[kKinds] = {"allocate", "open",   "read",   "write",  "print",
                                        "sync",     "rename", "remove", "folder", "map",
                                        "status",   "lock",   "close"};

struct Fault {
  int kind = -1;
  long n = 0;
  bool fails = false, halves = false, stays = false;
  int error = 0;
} fault;

struct Each {
  long every = 0;
  int socket = -1;
  char folder[512];
} each;

std::atomic<long> calls[kKinds];
bool counting = false;

// True if the kind's n-th call is to fail: in this process never, in its copy for the first time.
bool is_meant_in_copy(long n) {
  if ((n - 1) % each.every != 0) return false;
  counting = false;
  const bool is_copy = run_copy(each.folder, each.socket, n);
  if (is_copy) {
    ::unsetenv("FAULT_EACH");  // for a program that it becomes
    each.every = 0;
    fault.n = n;
  }
  counting = true;
  return is_copy;
}

// Counts a call; true when it is the one.
bool is_meant(Kind kind) {
  if (!counting) return false;
  const long n = calls[kind].fetch_add(1, std::memory_order_relaxed) + 1;
  if (kind != fault.kind) return false;
  if (each.every > 0) return is_meant_in_copy(n);
  if (fault.stays ? n < fault.n : n != fault.n) return false;
  if (!fault.fails && !fault.halves) ::raise(SIGSTOP);
  return true;
}

struct Counts {
  ~Counts() {
    const char* path = std::getenv("FAULT_COUNTS");
    if (!path) return;
    char text[512];
    int at = 0;
    for (int k = 0; k < kKinds; ++k)
      at += std::snprintf(text + at, sizeof text - static_cast<std::size_t>(at), "%s %ld\n",
                          kNames[k], calls[k].load());
    const long fd = ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ::syscall(SYS_write, fd, text, at);
    ::syscall(SYS_close, fd);
  }
} counts;

}  // namespace

void start_counting() {
  char kind[16] = "", what[16] = "", stay[8] = "";
  const char* text = std::getenv("FAULT");
  if (text && std::sscanf(text, "%15s %ld %15s %7s", kind, &fault.n, what, stay) >= 3) {
    for (int k = 0; k < kKinds; ++k)
      if (std::strcmp(kind, kNames[k]) == 0) fault.kind = k;
    fault.halves = std::strcmp(what, "short") == 0;
    fault.fails = !fault.halves && std::strcmp(what, "stop") != 0;
    fault.error = std::atoi(what);
    fault.stays = stay[0] != 0;
    if (fault.kind < 0) std::abort();
  }
  if (const char* copies = std::getenv("FAULT_EACH"))
    if (std::sscanf(copies, "%ld %d %511s", &each.every, &each.socket, each.folder) != 3 ||
        each.every < 1)
      std::abort();
  counting = true;
}

bool fails(Kind kind, std::size_t* bytes) {
  if (!is_meant(kind)) return false;
  if (fault.halves && bytes && *bytes > 1) *bytes /= 2;
  errno = fault.error;
  return fault.fails;
}

}  // namespace glim::fuzz
