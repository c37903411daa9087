#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <io.h>

#include "tensor/system/process.hpp"
#include "tensor/system/threads.hpp"
#include "tensor/system/windows.hpp"

namespace glim {
namespace {

std::atomic<void (*)(int)> on_event{nullptr};

// Called on a thread of its own. After a closed window the process has five seconds, or until this returns.
BOOL WINAPI handle_event(DWORD event) {
  void (*const f)(int) = on_event;
  if (!f) return FALSE;
  f(SIGINT);
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) Sleep(INFINITE);
  return TRUE;
}

// The system resets a handler before it calls it; Python's sets itself again.
std::atomic<bool>* watched = nullptr;
void (*before)(int) = SIG_DFL;
void set_watched(int signal) {
  *watched = true;
  if (before != SIG_DFL) before(signal);
}

UINT code_page_before = 0;

}  // namespace

int process_id() { return static_cast<int>(GetCurrentProcessId()); }
std::string program_path() {
  std::wstring path(32768, L'\0');
  path.resize(GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size())));
  return utf8(path);
}
std::optional<std::string> environment(const std::string& name) {
  const wchar_t* value = _wgetenv(wide(name).c_str());
  return value && *value ? std::optional<std::string>(utf8(value)) : std::nullopt;
}

double processor_seconds() {
  FILETIME unused, kernel, user;
  if (!GetProcessTimes(GetCurrentProcess(), &unused, &unused, &kernel, &user)) return 0;
  auto seconds = [](FILETIME t) {
    return 1e-7 * (4294967296.0 * t.dwHighDateTime + t.dwLowDateTime);
  };
  return seconds(kernel) + seconds(user);
}

bool prepare_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (_get_osfhandle(fd) < 0 && _open("NUL", fd == 0 ? _O_WRONLY : _O_RDONLY) < 0) return false;
    _setmode(fd, _O_BINARY);
    DWORD mode;
    const auto console = reinterpret_cast<HANDLE>(_get_osfhandle(fd));
    if (fd > 0 && GetConsoleMode(console, &mode))
      SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
  _set_fmode(_O_BINARY);
  code_page_before = GetConsoleOutputCP();
  if (SetConsoleOutputCP(CP_UTF8)) std::atexit([] { SetConsoleOutputCP(code_page_before); });
  return true;
}
bool drop_output() { return std::freopen("NUL", "w", stdout) != nullptr; }
bool reader_gone(int reason) {
  return reason == EPIPE || (reason == EINVAL && GetLastError() == ERROR_NO_DATA);
}

bool is_terminal(int fd) {
  DWORD mode;
  return GetConsoleMode(reinterpret_cast<HANDLE>(_get_osfhandle(fd)), &mode);
}
int terminal_columns(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (GetConsoleScreenBufferInfo(reinterpret_cast<HANDLE>(_get_osfhandle(fd)), &info))
    return info.srWindow.Right - info.srWindow.Left + 1;
  const char* columns = std::getenv("COLUMNS");
  const int n = columns ? std::atoi(columns) : 0;
  return n > 0 ? std::min(n, 1000) : 80;
}

bool open_in_browser(const std::string& file) {
  const std::wstring path = std::filesystem::absolute(std::filesystem::path(wide(file))).wstring();
  // Windows gives a handle that is no handle: above 32 it has opened the file.
  return reinterpret_cast<INT_PTR>(
             ShellExecuteW(nullptr, L"open", path.c_str(), nullptr, nullptr, SW_SHOWNORMAL)) > 32;
}

void on_interrupt(void (*f)(int), bool) {
  static const BOOL installed = SetConsoleCtrlHandler(handle_event, TRUE);
  static_cast<void>(installed);
  on_event = f;
}

void watch_interrupt(std::atomic<bool>& flag) {
  watched = &flag;
  before = std::signal(SIGINT, set_watched);
  if (before == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}
void end_interrupt_watch() { std::signal(SIGINT, before); }

void* load_library(const std::string& name) { return LoadLibraryW(wide(name).c_str()); }
void* library_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}
std::string library_error() { return "Windows error " + std::to_string(GetLastError()); }

void hold_across_fork(std::mutex&) {}  // there is no fork
void on_fork(void (*)()) {}

}  // namespace glim
