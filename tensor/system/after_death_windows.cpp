#include <cerrno>
#include <fcntl.h>
#include <io.h>
#include <system_error>

#include "tensor/system/after_death.hpp"
#include "tensor/system/windows.hpp"

namespace glim {

AfterDeath::AfterDeath(const std::string& folder) {
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  HANDLE end, kept;
  if (!CreatePipe(&end, &kept, &inherited, 0))
    throw std::system_error(EPIPE, std::generic_category(), "no pipe");
  SetHandleInformation(kept, HANDLE_FLAG_INHERIT, 0);
  pipe_ = _open_osfhandle(reinterpret_cast<std::intptr_t>(kept), _O_WRONLY | _O_NOINHERIT);
  STARTUPINFOW start{};
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = end;
  std::wstring command =
      wide("cmd.exe /d /q /c \"set /p nothing= & rmdir /s /q \"" + folder + "\"\"");
  PROCESS_INFORMATION made{};
  const BOOL started =
      CreateProcessW(command_shell().c_str(), command.data(), nullptr, nullptr, TRUE,
                     CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP, nullptr, nullptr, &start, &made);
  CloseHandle(end);
  if (!started) {
    _close(pipe_);
    throw std::system_error(ENOENT, std::generic_category(), "cmd.exe does not start");
  }
  CloseHandle(made.hThread);
  CloseHandle(made.hProcess);
  shell_ = static_cast<int>(made.dwProcessId);
}

void AfterDeath::end_group() {
  if (shell_ < 0) return;
  if (const HANDLE shell = OpenProcess(PROCESS_TERMINATE, FALSE, static_cast<DWORD>(shell_))) {
    TerminateProcess(shell, 0);
    CloseHandle(shell);
  }
  _close(pipe_);
  shell_ = -1;
}

}  // namespace glim
