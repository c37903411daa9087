#include "tests/fuzz/faults/copy.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace glim::fuzz {
namespace {

namespace fs = std::filesystem;

void require(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::abort();
}

void open_anew(const fs::path& from, const fs::path& to) {
  std::vector<int> open;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd"))
    open.push_back(std::stoi(entry.path().filename()));
  for (int fd : open) {
    std::error_code error;
    fs::path file = fs::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
    if (error || !(fs::is_regular_file(file, error) || fs::is_directory(file, error))) continue;
    const fs::path inside = file.lexically_relative(from);
    if (!inside.string().starts_with("..")) file = to / inside;
    const int flags = ::fcntl(fd, F_GETFL), cloexec = ::fcntl(fd, F_GETFD);
    const int anew = ::open(file.c_str(), flags & ~(O_CREAT | O_EXCL | O_TRUNC));
    require(anew >= 0, file.c_str());
    ::lseek(anew, ::lseek(fd, 0, SEEK_CUR), SEEK_SET);
    require(::dup3(anew, fd, cloexec & FD_CLOEXEC ? O_CLOEXEC : 0) == fd, "dup3");
    ::close(anew);
  }
}

}  // namespace

bool run_copy(const char* folder, int socket, long n) {
  const int before = errno;
  const fs::path here = fs::current_path();
  fs::copy(here, folder, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  fs::directory_iterator threads("/proc/self/task");
  require(std::distance(begin(threads), end(threads)) == 1, "a process of several threads");
  const pid_t copy = ::_Fork();
  require(copy >= 0, "fork");
  if (copy == 0) {
    ::close(socket);
    open_anew(here, folder);
    fs::current_path(folder);
    errno = before;
    return true;
  }
  int status = 0;
  while (::waitpid(copy, &status, 0) < 0) require(errno == EINTR, "waitpid");
  const std::string text =
      std::to_string(n) + " " +
      std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  char answer;
  require(::send(socket, text.data(), text.size(), 0) > 0 && ::recv(socket, &answer, 1, 0) == 1,
          "the tester is gone");
  errno = before;
  return false;
}

}  // namespace glim::fuzz
