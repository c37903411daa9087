#include <climits>
#include <crt_externs.h>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <mach-o/dyld.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/system/files.hpp"
#include "tensor/system/posix.hpp"
#include "tensor/system/process.hpp"

namespace glim {

std::string program_path() {
  char path[4 * PATH_MAX];
  std::uint32_t bytes = sizeof path;
  if (::_NSGetExecutablePath(path, &bytes) != 0) return "";
  return std::filesystem::canonical(path).string();
}
char** program_environment() { return *::_NSGetEnviron(); }
// A program that another thread starts between the calls gets the pipe.
int make_pipe(int ends[2]) {
  if (::pipe(ends) != 0) return -1;
  for (int i = 0; i < 2; ++i) ::fcntl(ends[i], F_SETFD, FD_CLOEXEC);
  return 0;
}
int unused_pages() { return MADV_FREE; }
const char* browser_program() { return "open"; }
// fsync leaves what it writes in the disk's own memory. Some file systems have fsync alone.
bool flush_to_disk(int fd) { return ::fcntl(fd, F_FULLFSYNC) == 0 || ::fsync(fd) == 0; }

}  // namespace glim
