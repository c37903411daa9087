#include "tools/foreign/child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensor/clock.hpp"
#include "tensor/error.hpp"
#include "tensor/print.hpp"

namespace glim::foreign {
namespace {

[[noreturn]] void fail(const std::string& problem) { throw ValueError("--program", problem); }

constexpr std::size_t kLongestLine = std::size_t{256} << 20, kKeptErrors = 4096;

int milliseconds_to(double t) {  // of seconds_now()
  return static_cast<int>(std::clamp(1000 * (t - seconds_now()), 0.0, 0x1p30));
}

bool try_again() { return errno == EAGAIN || errno == EINTR; }

// The last line that is not empty.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

// The process group of the child that runs. Ctrl-C does not reach it, and a child that hangs would run on.
volatile std::sig_atomic_t running_group = 0;

constexpr int kEnds[] = {SIGINT, SIGTERM, SIGHUP};

void end_both(int signal) {
  if (running_group > 0) ::kill(-running_group, SIGKILL);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

void end_with_this_process(pid_t group) {
  running_group = group;
  for (const int signal : kEnds) {
    struct sigaction now;
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
      std::signal(signal, end_both);
  }
}

}  // namespace

void Child::Descriptor::reset() {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

Child::Child(const std::string& command) {
  std::signal(SIGPIPE, SIG_IGN);
  int in[2], out[2], err[2];
  for (int* pipe : {in, out, err})
    if (::pipe2(pipe, O_CLOEXEC) != 0) fail(std::string("no pipe: ") + std::strerror(errno));
  in_.fd = in[1], out_.fd = out[0], err_.fd = err[0];
  for (int fd : {in_.fd, out_.fd, err_.fd}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t ignored_here;
  sigemptyset(&ignored_here);
  sigaddset(&ignored_here, SIGPIPE);
  sigaddset(&ignored_here, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &ignored_here);
  // A signal that comes while the child starts waits until its group is known.
  sigset_t ends, before;
  sigemptyset(&ends);
  for (const int signal : kEnds) sigaddset(&ends, signal);
  ::pthread_sigmask(SIG_BLOCK, &ends, &before);
  posix_spawnattr_setsigmask(&attributes, &before);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::string sh = "sh", c = "-c", text = command;
  char* const arguments[] = {sh.data(), c.data(), text.data(), nullptr};
  const int error = posix_spawn(&pid_, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (int fd : {in[0], out[1], err[1]}) ::close(fd);
  if (error == 0) end_with_this_process(pid_);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    pid_ = -1;
    fail(std::string("/bin/sh does not start: ") + std::strerror(error));
  }
}

Child::~Child() {
  in_.reset();
  if (pid_ >= 0) {
    const pid_t group = pid_;
    const bool alone = ended(1);
    ::kill(-group, SIGKILL);  // the child, or what it has left behind
    if (!alone) ::waitpid(pid_, &status_, 0);
  }
  running_group = 0;
}

bool Child::ended(double seconds) {
  const double until = seconds_now() + seconds;
  while (pid_ >= 0) {
    if (::waitpid(pid_, &status_, WNOHANG) == pid_)
      pid_ = -1;
    else if (milliseconds_to(until) == 0)
      return false;
    else
      ::poll(nullptr, 0, 5);
  }
  return true;
}

void Child::fail_ended() {
  std::string problem = "it ";
  if (!ended(1))
    problem += "closed its standard output";
  else if (WIFSIGNALED(status_))
    problem += std::string("was ended by a signal (") + ::strsignal(WTERMSIG(status_)) + ")";
  else
    problem += "ended with status " + std::to_string(WEXITSTATUS(status_));
  read_errors();
  const std::string said = last_line(errors_);
  fail(problem + (said.empty() ? "" : ", and says: " + said));
}

// Reads what is there. False at the end; ValueError if it cannot be read.
bool Child::read_some(Descriptor& from, std::string& to) {
  char buffer[1 << 16];
  const ssize_t n = ::read(from.fd, buffer, sizeof buffer);
  if (n > 0) to.append(buffer, static_cast<std::size_t>(n));
  if (n < 0 && !try_again())
    fail(std::string("its output cannot be read: ") + std::strerror(errno));
  return n != 0;
}

void Child::read_errors() {
  while (err_.fd >= 0) {
    const std::size_t before = errors_.size();
    if (!read_some(err_, errors_)) err_.reset();
    if (errors_.size() == before) break;
    if (errors_.size() > kKeptErrors) {
      errors_.erase(0, errors_.size() - kKeptErrors);
      break;  // it may never end
    }
  }
}

std::string Child::ask(const std::string& line, double seconds) {
  const double until = seconds_now() + seconds;
  if (!output_.empty()) fail("it prints more than one line for a request");
  const std::string request = line + "\n";
  std::size_t sent = 0, end = std::string::npos;
  while (end == std::string::npos) {
    pollfd fds[] = {{out_.fd, POLLIN, 0},
                    {err_.fd, POLLIN, 0},
                    {sent < request.size() ? in_.fd : -1, POLLOUT, 0}};
    if (::poll(fds, 3, milliseconds_to(until)) == 0)
      fail("no reply within " + number_text(seconds) +
           " s (--timeout); a reply is a line, and is flushed");
    const std::size_t before = output_.size();
    if (fds[0].revents && !read_some(out_, output_)) fail_ended();
    if (fds[1].revents) read_errors();
    if (fds[2].revents) {
      const ssize_t n = ::write(in_.fd, request.data() + sent, request.size() - sent);
      if (n > 0) sent += static_cast<std::size_t>(n);
      if (n < 0 && errno == EPIPE)
        sent = request.size();  // it closed its input; its exit or the timeout says why
      else if (n < 0 && !try_again())
        fail(std::string("its input cannot be written: ") + std::strerror(errno));
    }
    end = output_.find('\n', before);
    if (output_.size() > kLongestLine && end == std::string::npos)
      fail("it prints " + std::to_string(kLongestLine >> 20) + " MB without an end of line");
  }
  std::string reply = output_.substr(0, end);
  output_.erase(0, end + 1);
  return reply;
}

}  // namespace glim::foreign
