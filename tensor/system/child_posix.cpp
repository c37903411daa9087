#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "tensor/system/after_death.hpp"
#include "tensor/system/child.hpp"
#include "tensor/system/files.hpp"
#include "tensor/system/posix.hpp"

namespace glim {
namespace {

int milliseconds(double seconds) {
  return static_cast<int>(std::clamp(1000 * seconds, 0.0, 0x1p30));
}
double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}
[[noreturn]] void fail(const char* problem, int error = errno) {
  throw std::system_error(error, std::generic_category(), problem);
}
bool try_again() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

std::string command_word(std::string_view text) { return shell_word(text); }

std::string shell_command(const std::vector<std::pair<std::string, std::string>>& variables,
                          const std::vector<std::string>& words) {
  std::string command;
  for (const auto& [name, value] : variables) command += name + "=" + command_word(value) + " ";
  command += "exec";
  for (const std::string& word : words) command += " " + command_word(word);
  return command;
}
bool can_confine_programs() { return true; }

// A child never waits for a full pipe: what does not fit is lost.
struct SharedPipe::Ends {
  int read = -1, write = -1;
};
SharedPipe::SharedPipe() : ends_(std::make_unique<Ends>()) {
  int ends[2];
  if (::pipe(ends) != 0) fail("no pipe");
  *ends_ = {ends[0], ends[1]};
  for (const int end : ends) ::fcntl(end, F_SETFL, O_NONBLOCK);
  ::fcntl(ends_->read, F_SETFD, FD_CLOEXEC);
}
SharedPipe::~SharedPipe() { ::close(ends_->read), ::close(ends_->write); }
std::string SharedPipe::name() const { return std::to_string(ends_->write); }
std::string SharedPipe::read() const {
  std::string text(1 << 16, '\0');
  text.resize(static_cast<std::size_t>(
      std::max<ssize_t>(0, ::read(ends_->read, text.data(), text.size()))));
  return text;
}

struct ChildProcess::System {
  void end(int& fd) {
    if (fd >= 0) ::close(std::exchange(fd, -1));
  }
  ~System() {
    for (int* fd : {&input, &output, &errors}) end(*fd);
  }
  // Reads what is there, or ends the stream.
  void read(int& fd, std::string& target) {
    char buffer[1 << 16];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n > 0) target.append(buffer, static_cast<std::size_t>(n));
    if (n < 0 && !try_again()) fail("its output cannot be read");
    if (n == 0) end(fd);
  }

  AfterDeath group;
  pid_t pid = -1;  // -1: reaped
  int input = -1, output = -1, errors = -1;
  Ending ending;
};

// This process ignores SIGPIPE from then on.
ChildProcess::ChildProcess(const std::string& command) : system_(std::make_unique<System>()) {
  std::signal(SIGPIPE, SIG_IGN);
  int input[2], output[2], errors[2];
  for (int* pipe : {input, output, errors})
    if (make_pipe(pipe) != 0) fail("no pipe");
  system_->input = input[1], system_->output = output[0], system_->errors = errors[0];
  for (int fd : {input[1], output[0], errors[0]}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t ignored_here;
  sigemptyset(&ignored_here);
  sigaddset(&ignored_here, SIGPIPE);
  sigaddset(&ignored_here, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &ignored_here);
  posix_spawnattr_setpgroup(&attributes, system_->group.group());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::string sh = "sh", c = "-c", text = command;
  char* const arguments[] = {sh.data(), c.data(), text.data(), nullptr};
  const int error = posix_spawn(&system_->pid, "/bin/sh", &actions, &attributes, arguments,
                                program_environment());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (int fd : {input[0], output[1], errors[1]}) ::close(fd);
  if (error == 0) return;
  system_->pid = -1;
  fail("/bin/sh does not start", error);
}

ChildProcess::~ChildProcess() {
  close_input();
  const bool alone = ended(1);
  system_->group.end_group();  // the child, or what it has left behind
  if (!alone) ::waitpid(system_->pid, nullptr, 0);
}

bool ChildProcess::exchange(std::string_view& input, std::string& output, std::string& errors,
                            double seconds) {
  pollfd fds[] = {{system_->output, POLLIN, 0},
                  {system_->errors, POLLIN, 0},
                  {input.empty() ? -1 : system_->input, POLLOUT, 0}};
  if (::poll(fds, 3, milliseconds(seconds)) == 0) return false;
  if (fds[0].revents) system_->read(system_->output, output);
  if (fds[1].revents) system_->read(system_->errors, errors);
  if (fds[2].revents) {
    const ssize_t n = ::write(system_->input, input.data(), input.size());
    if (n >= 0)
      input.remove_prefix(static_cast<std::size_t>(n));
    else if (errno == EPIPE)
      input = {};
    else if (!try_again())
      fail("its input cannot be written");
  }
  return true;
}

bool ChildProcess::output_ended() const { return system_->output < 0; }
void ChildProcess::close_input() { system_->end(system_->input); }

bool ChildProcess::ended(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds(seconds));
  rusage used{};
  int status = 0;
  while (system_->pid >= 0) {
    if (::wait4(system_->pid, &status, WNOHANG, &used) == system_->pid) {
      Ending& ending = system_->ending;
      if (WIFSIGNALED(status)) {
        ending.signal = WTERMSIG(status);
        ending.killed = ending.signal == SIGKILL;
        ending.signal_name = ::strsignal(ending.signal);
      }
      ending.status = WIFSIGNALED(status) ? 128 + ending.signal : WEXITSTATUS(status);
      ending.seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
      system_->pid = -1;
    } else if (Clock::now() >= until) {
      return false;
    } else {
      ::poll(nullptr, 0, 5);
    }
  }
  return true;
}
const ChildProcess::Ending& ChildProcess::ending() const { return system_->ending; }

}  // namespace glim
