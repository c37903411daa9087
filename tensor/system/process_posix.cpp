#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tensor/system/child.hpp"
#include "tensor/system/posix.hpp"
#include "tensor/system/process.hpp"

namespace glim {
namespace {

std::atomic<bool>* watched = nullptr;
struct sigaction before;
void set_watched(int signal) {
  *watched = true;
  if (before.sa_handler != SIG_DFL) before.sa_handler(signal);
}

}  // namespace

int process_id() { return ::getpid(); }
std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// /dev/null is opened the wrong way round, so that writing to a closed standard output still fails.
bool prepare_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) == -1 && ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
      return false;
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return true;
}
bool drop_output() { return std::freopen("/dev/null", "w", stdout) != nullptr; }
bool reader_gone(int reason) { return reason == EPIPE; }

bool is_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && !(term && std::strcmp(term, "dumb") == 0);
}

int terminal_columns(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  int n = columns ? std::atoi(columns) : 0;
  return n > 0 ? std::min(n, 1000) : 80;
}

bool open_in_browser(const std::string& file) {
  const char* program = browser_program();
  if (!program) return false;
  const std::string name = program, path = shell_word(std::filesystem::absolute(file).string());
  const std::string start = "{ " + name + " " + path + " >/dev/null 2>&1 </dev/null & }";
  return std::system(("command -v " + name + " >/dev/null 2>&1 && " + start).c_str()) == 0;
}

void on_interrupt(void (*f)(int), bool ends_reads) {
  struct sigaction action {};
  action.sa_handler = f ? f : SIG_DFL;
  action.sa_flags = ends_reads ? 0 : SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM})
    if (signal == SIGINT || !ends_reads) ::sigaction(signal, &action, nullptr);
}

void watch_interrupt(std::atomic<bool>& flag) {
  watched = &flag;
  ::sigaction(SIGINT, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction ours {};
  ours.sa_handler = set_watched;
  ours.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &ours, &before);
}
void end_interrupt_watch() { ::sigaction(SIGINT, &before, nullptr); }

void* load_library(const std::string& name) { return ::dlopen(name.c_str(), RTLD_NOW); }
void* library_symbol(void* library, const char* name) { return ::dlsym(library, name); }
std::string library_error() {
  const char* reason = ::dlerror();
  return reason ? reason : "";
}

}  // namespace glim
