#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/system/files.hpp"
#include "tensor/system/posix.hpp"
#include "tensor/system/process.hpp"

namespace glim {

std::string program_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }
char** program_environment() { return environ; }
int make_pipe(int ends[2]) { return ::pipe2(ends, O_CLOEXEC); }
int unused_pages() { return MADV_DONTNEED; }
const char* browser_program() {
  return environment("DISPLAY") || environment("WAYLAND_DISPLAY") ? "xdg-open" : nullptr;
}
bool flush_to_disk(int fd) { return ::fsync(fd) == 0; }

}  // namespace glim
