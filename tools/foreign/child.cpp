#include "tools/foreign/child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensor/clock.hpp"
#include "tensor/error.hpp"
#include "tensor/print.hpp"
#include "tensor/system/posix.hpp"

namespace glim::foreign {
namespace {

using Kind = ProgramError::Kind;

[[noreturn]] void fail(const std::string& problem, Kind kind = Kind::Senseless) {
  throw ProgramError({.kind = kind, .problem = problem});
}

constexpr std::size_t kLongestLine = std::size_t{256} << 20, kKeptErrors = 4096;

int milliseconds_to(double t) {  // of seconds_now()
  return static_cast<int>(std::clamp(1000 * (t - seconds_now()), 0.0, 0x1p30));
}

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

bool try_again() { return errno == EAGAIN || errno == EINTR; }

// The last lines that are not empty, without the spaces around them.
std::vector<std::string> last_lines(std::string text, std::size_t most) {
  constexpr const char* kSpaces = " \t\r\n";
  std::vector<std::string> lines;
  while (lines.size() < most && text.find_last_not_of(kSpaces) != text.npos) {
    text.erase(text.find_last_not_of(kSpaces) + 1);
    const std::size_t begin = text.rfind('\n') + 1;
    lines.insert(lines.begin(), text.substr(text.find_first_not_of(kSpaces, begin)));
    text.erase(begin);
  }
  return lines;
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
    if (make_pipe(pipe) != 0)
      fail(std::string("no pipe: ") + std::strerror(errno), Kind::NotStarted);
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
  posix_spawnattr_setpgroup(&attributes, group_.group());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::string sh = "sh", c = "-c", text = command;
  char* const arguments[] = {sh.data(), c.data(), text.data(), nullptr};
  const int error = posix_spawn(&pid_, "/bin/sh", &actions, &attributes, arguments, environment());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (int fd : {in[0], out[1], err[1]}) ::close(fd);
  if (error == 0) return;
  pid_ = -1;
  fail(std::string("/bin/sh does not start: ") + std::strerror(error), Kind::NotStarted);
}

Child::~Child() {
  in_.reset();
  const bool alone = ended(1);
  group_.end_group();  // the child, or what it has left behind
  if (!alone) ::waitpid(pid_, &status_, 0);
}

bool Child::ended(double seconds) {
  const double until = seconds_now() + seconds;
  rusage used{};
  while (pid_ >= 0) {
    if (::wait4(pid_, &status_, WNOHANG, &used) == pid_)
      pid_ = -1, seconds_ = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    else if (milliseconds_to(until) == 0)
      return false;
    else
      ::poll(nullptr, 0, 5);
  }
  return true;
}

void Child::fail_ended() {
  std::string problem = "it ";
  ProgramError::Cause cause{.kind = Kind::Ended};
  if (!ended(1)) {
    problem += "closed its standard output";
  } else if (WIFSIGNALED(status_)) {
    cause.kind = Kind::Signalled;
    cause.signal = WTERMSIG(status_);
    problem += std::string("was ended by a signal (") + ::strsignal(cause.signal) + ")";
  } else {
    cause.status = WEXITSTATUS(status_);
    problem += "ended with status " + std::to_string(cause.status);
  }
  read_errors();
  const std::vector<std::string> lines = last_lines(errors_, 3);
  cause.seconds = seconds_;
  cause.problem = problem;
  for (const std::string& line : lines) {
    cause.problem += (cause.says.empty() ? ", and says: " : " | ") + line;
    cause.says = line;
  }
  throw ProgramError(cause);
}

// Reads what is there. False at the end; ValueError if it cannot be read.
bool Child::read_some(Descriptor& source, std::string& target) {
  char buffer[1 << 16];
  const ssize_t n = ::read(source.fd, buffer, sizeof buffer);
  if (n > 0) target.append(buffer, static_cast<std::size_t>(n));
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
               " s (--timeout); a reply is a line, and is flushed",
           Kind::Silent);
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

std::pair<std::string, int> Child::finish(double seconds) {
  const double until = seconds_now() + seconds;
  in_.reset();
  while (out_.fd >= 0) {
    pollfd fds[] = {{out_.fd, POLLIN, 0}, {err_.fd, POLLIN, 0}};
    if (::poll(fds, 2, milliseconds_to(until)) == 0)
      fail("it has not ended after " + number_text(seconds) + " s", Kind::Silent);
    if (fds[0].revents && !read_some(out_, output_)) out_.reset();
    if (fds[1].revents) read_errors();
  }
  if (!ended(seconds)) fail("it closed its standard output, and has not ended", Kind::Silent);
  return {output_, status_};
}

}  // namespace glim::foreign
