#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <system_error>

#include "tensor/system/child.hpp"
#include "tensor/system/windows.hpp"

namespace glim {
namespace {

[[noreturn]] void fail(const char* problem) {
  throw std::system_error(static_cast<int>(GetLastError()), std::system_category(), problem);
}
DWORD milliseconds(double seconds) {
  return static_cast<DWORD>(std::clamp(1000 * seconds, 0.0, 0x1p30));
}
double seconds_of(const LARGE_INTEGER& t) { return 1e-7 * static_cast<double>(t.QuadPart); }

// This process's end of a pipe, and a read or write of it that is on its way.
struct Stream {
  ~Stream() {
    close();
    CloseHandle(overlapped.hEvent);
  }
  // Returns the child's end.
  HANDLE open(bool child_reads) {
    static std::atomic<unsigned> count{0};
    const std::wstring name = L"\\\\.\\pipe\\glim-" + std::to_wstring(GetCurrentProcessId()) +
                              L"-" + std::to_wstring(count++);
    overlapped.hEvent = CreateEventW(nullptr, TRUE, FALSE, nullptr);
    pipe = CreateNamedPipeW(name.c_str(),
                            (child_reads ? PIPE_ACCESS_OUTBOUND : PIPE_ACCESS_INBOUND) |
                                FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
                            PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS, 1, sizeof buffer,
                            sizeof buffer, 0, nullptr);
    SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
    const HANDLE end = CreateFileW(name.c_str(), child_reads ? GENERIC_READ : GENERIC_WRITE, 0,
                                   &inherited, OPEN_EXISTING, 0, nullptr);
    if (pipe == INVALID_HANDLE_VALUE || end == INVALID_HANDLE_VALUE) fail("no pipe");
    return end;
  }
  void close() {
    if (pipe == INVALID_HANDLE_VALUE) return;
    DWORD unused;
    if (pending && CancelIoEx(pipe, &overlapped))
      GetOverlappedResult(pipe, &overlapped, &unused, TRUE);
    CloseHandle(pipe);
    pipe = INVALID_HANDLE_VALUE;
    pending = false;
  }
  void started(BOOL done) {
    pending = done || GetLastError() == ERROR_IO_PENDING;
    if (!pending) close();  // the child has closed its end
  }
  void read() {
    if (pipe != INVALID_HANDLE_VALUE && !pending)
      started(
          ReadFile(pipe, buffer.data(), static_cast<DWORD>(buffer.size()), nullptr, &overlapped));
  }
  void write(std::string_view& input) {
    if (input.empty() || pending) return;
    const std::size_t bytes = std::min(input.size(), buffer.size());
    std::copy_n(input.data(), bytes, buffer.data());
    input.remove_prefix(bytes);
    if (pipe != INVALID_HANDLE_VALUE)
      started(WriteFile(pipe, buffer.data(), static_cast<DWORD>(bytes), nullptr, &overlapped));
  }
  // The bytes of a read that has ended.
  std::string_view passed() {
    DWORD bytes = 0;
    if (!pending || WaitForSingleObject(overlapped.hEvent, 0) != WAIT_OBJECT_0) return {};
    pending = false;
    if (!GetOverlappedResult(pipe, &overlapped, &bytes, FALSE)) close();
    return {buffer.data(), bytes};
  }

  HANDLE pipe = INVALID_HANDLE_VALUE;
  OVERLAPPED overlapped{};
  bool pending = false;
  std::array<char, 1 << 16> buffer;
};

}  // namespace

// The program's C library reads a backslash as itself unless a quotation mark follows.
std::string command_word(std::string_view text) {
  constexpr std::string_view kSpecial = " \t\"&|<>^()%!,;=";
  if (!text.empty() && text.find_first_of(kSpecial) == text.npos) return std::string(text);
  std::string quoted = "\"";
  std::size_t backslashes = 0;
  for (const char c : text) {
    if (c == '"') quoted.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    quoted += c;
  }
  return quoted.append(backslashes, '\\') + "\"";
}
std::string shell_command(const std::vector<std::pair<std::string, std::string>>& variables,
                          const std::vector<std::string>& words) {
  std::string command;
  for (const auto& [name, value] : variables) command += "set " + name + "=" + value + "&& ";
  for (const std::string& word : words) command += command_word(word) + " ";
  return command;
}
bool can_confine_programs() { return false; }

// The pipe has room for what many children print.
struct SharedPipe::Ends {
  HANDLE read = nullptr, write = nullptr;
};
SharedPipe::SharedPipe() : ends_(std::make_unique<Ends>()) {
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  if (!CreatePipe(&ends_->read, &ends_->write, &inherited, 1 << 24)) fail("no pipe");
  SetHandleInformation(ends_->read, HANDLE_FLAG_INHERIT, 0);
}
SharedPipe::~SharedPipe() { CloseHandle(ends_->read), CloseHandle(ends_->write); }
std::string SharedPipe::name() const {
  return std::to_string(reinterpret_cast<std::uintptr_t>(ends_->write));
}
std::string SharedPipe::read() const {
  std::string text(1 << 16, '\0');
  DWORD available = 0, bytes = 0;
  if (PeekNamedPipe(ends_->read, nullptr, 0, nullptr, &available, nullptr) && available > 0)
    ReadFile(ends_->read, text.data(), static_cast<DWORD>(text.size()), &bytes, nullptr);
  text.resize(bytes);
  return text;
}

struct ChildProcess::System {
  ~System() {
    for (const HANDLE handle : {process, job})
      if (handle) CloseHandle(handle);
  }
  // When its last handle is closed, as when this process ends, the system ends all processes in the job.
  HANDLE job = CreateJobObjectW(nullptr, nullptr);
  HANDLE process = nullptr;
  Stream in, out, errors;
  Ending ending;
};

ChildProcess::ChildProcess(const std::string& command) : system_(std::make_unique<System>()) {
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
  if (!SetInformationJobObject(system_->job, JobObjectExtendedLimitInformation, &limits,
                               sizeof limits))
    fail("no job object");
  static std::mutex starting;  // or a child inherits the ends of another's pipes
  const std::lock_guard lock(starting);
  STARTUPINFOW start{};
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = system_->in.open(true);
  start.hStdOutput = system_->out.open(false);
  start.hStdError = system_->errors.open(false);
  const std::wstring shell = command_shell();
  std::wstring line = L"cmd.exe /d /s /c \"" + wide(command) + L"\"";
  PROCESS_INFORMATION made{};
  const BOOL started =
      CreateProcessW(shell.c_str(), line.data(), nullptr, nullptr, TRUE,
                     CREATE_NO_WINDOW | CREATE_SUSPENDED, nullptr, nullptr, &start, &made);
  const DWORD error = GetLastError();
  for (const HANDLE end : {start.hStdInput, start.hStdOutput, start.hStdError}) CloseHandle(end);
  SetLastError(error);
  if (!started) fail("cmd.exe does not start");
  system_->process = made.hProcess;
  AssignProcessToJobObject(system_->job, made.hProcess);
  ResumeThread(made.hThread);
  CloseHandle(made.hThread);
}

ChildProcess::~ChildProcess() {
  close_input();
  if (system_->process) ended(1);
  TerminateJobObject(system_->job, 1);
}

bool ChildProcess::exchange(std::string_view& input, std::string& output, std::string& errors,
                            double seconds) {
  const bool open = !output_ended();
  system_->out.read();
  if (open && output_ended()) return true;
  system_->errors.read();
  system_->in.write(input);
  std::array<HANDLE, 3> events;
  DWORD count = 0;
  for (const Stream* stream : {&system_->out, &system_->errors, &system_->in})
    if (stream->pending) events[count++] = stream->overlapped.hEvent;
  if (count == 0 ||
      WaitForMultipleObjects(count, events.data(), FALSE, milliseconds(seconds)) == WAIT_TIMEOUT)
    return false;
  output += system_->out.passed();
  errors += system_->errors.passed();
  system_->in.passed();
  return true;
}

bool ChildProcess::output_ended() const { return system_->out.pipe == INVALID_HANDLE_VALUE; }
void ChildProcess::close_input() { system_->in.close(); }

bool ChildProcess::ended(double seconds) {
  if (WaitForSingleObject(system_->process, milliseconds(seconds)) != WAIT_OBJECT_0) return false;
  DWORD code = 0;
  GetExitCodeProcess(system_->process, &code);
  Ending& ending = system_->ending;
  ending.status = static_cast<int>(code);
  if (code >= 0xC0000000) {  // an exception that nothing handled
    ending.signal = code == EXCEPTION_ACCESS_VIOLATION ? SIGSEGV : SIGABRT;
    ending.signal_name = code == EXCEPTION_ACCESS_VIOLATION ? "access violation"
                         : code == EXCEPTION_STACK_OVERFLOW ? "stack overflow"
                                                            : "exception " + std::to_string(code);
  }
  JOBOBJECT_BASIC_ACCOUNTING_INFORMATION used{};
  if (QueryInformationJobObject(system_->job, JobObjectBasicAccountingInformation, &used,
                                sizeof used, nullptr))
    ending.seconds = seconds_of(used.TotalUserTime) + seconds_of(used.TotalKernelTime);
  return true;
}
const ChildProcess::Ending& ChildProcess::ending() const { return system_->ending; }

}  // namespace glim
