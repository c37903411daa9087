#include "tools/common/after_death.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensor/error.hpp"

namespace glim {

AfterDeath::AfterDeath(const std::string& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw StateError("system", std::string("no pipe: ") + std::strerror(errno));
  pipe_ = ends[1];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string sh = "sh", c = "-c", text = "trap '' HUP INT QUIT TERM; read -r nothing; " + command;
  char* const arguments[] = {sh.data(), c.data(), text.data(), nullptr};
  const int error = posix_spawn(&shell_, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(ends[0]);
  if (error == 0) return;
  ::close(pipe_);
  throw StateError("system", std::string("/bin/sh does not start: ") + std::strerror(error));
}

void AfterDeath::end_group() {
  if (shell_ < 0) return;
  ::kill(-shell_, SIGKILL);
  ::waitpid(shell_, nullptr, 0);
  ::close(pipe_);
  shell_ = -1;
}

}  // namespace glim
