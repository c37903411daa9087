#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "tensor/system/after_death.hpp"
#include "tensor/system/posix.hpp"

namespace glim {

AfterDeath::AfterDeath(const std::string& folder) { start("exec rm -rf -- \"$0\"", folder); }
AfterDeath::AfterDeath() { start("kill -9 0", "sh"); }

void AfterDeath::start(std::string command, std::string argument) {
  int ends[2];
  if (make_pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "no pipe");
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
  std::string sh = "sh", c = "-c";
  command = "trap '' HUP INT QUIT TERM; read -r nothing; " + command;
  char* const arguments[] = {sh.data(), c.data(), command.data(), argument.data(), nullptr};
  const int error =
      posix_spawn(&shell_, "/bin/sh", &actions, &attributes, arguments, program_environment());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(ends[0]);
  if (error == 0) return;
  ::close(pipe_);
  throw std::system_error(error, std::generic_category(), "/bin/sh does not start");
}

void AfterDeath::end_group() {
  if (shell_ < 0) return;
  ::kill(-shell_, SIGKILL);
  ::waitpid(shell_, nullptr, 0);
  ::close(pipe_);
  shell_ = -1;
}

}  // namespace glim
