// windows.exe: what tests/wine.sh needs on Windows. `square` and `wrong` answer glim gradcheck (tools/foreign/program.md)
// with x² and its gradient; `stays` starts a copy of itself and answers nothing; `hold FILE` lets nobody else open a file.
// `close PROGRAM` does what Windows does to a process whose window is closed: it calls CtrlRoutine there, and ends
// the process when that returns, or after five seconds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <tlhelp32.h>

// True if the line has the name, with three numbers; another number of them ends the program.
static int read(const char* line, const char* name, double* values) {
  const char* text = strstr(line, name);
  if (!text) return 0;
  if (sscanf(strchr(text, '['), "[%lf,%lf,%lf]", values, values + 1, values + 2) != 3) exit(1);
  return 1;
}

static int close_window(const char* program) {
  PROCESSENTRY32 entry = {.dwSize = sizeof entry};
  HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
  BOOL found = Process32First(list, &entry);
  while (found && strcmp(entry.szExeFile, program)) found = Process32Next(list, &entry);
  HANDLE process = found ? OpenProcess(PROCESS_ALL_ACCESS, FALSE, entry.th32ProcessID) : NULL;
  FARPROC routine = GetProcAddress(GetModuleHandleA("kernelbase"), "CtrlRoutine");
  if (!process || !routine) return 1;
  HANDLE call = CreateRemoteThread(process, NULL, 0, (LPTHREAD_START_ROUTINE)routine, (void*)CTRL_CLOSE_EVENT, 0, NULL);
  DWORD status = 0;
  if (WaitForSingleObject(call, 5000) == WAIT_OBJECT_0) GetExitCodeThread(call, &status);
  if (status >= 128) return WaitForSingleObject(process, 5000) != WAIT_OBJECT_0;  // the process's own end ended the call
  TerminateProcess(process, 1);
  return 2;
}

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "";
  if (!strcmp(mode, "close")) return close_window(words[2]);
  if (!strcmp(mode, "hold")) {
    CreateFileA(words[2], GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
    printf("held\n");
    fflush(stdout);
    Sleep(60000);
    return 0;
  }
  if (!strcmp(mode, "stays")) {
    char command[MAX_PATH + 8];
    STARTUPINFOA start = {.cb = sizeof start};
    PROCESS_INFORMATION made;
    snprintf(command, sizeof command, "\"%s\" sleeps", words[0]);
    CreateProcessA(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &start, &made);
  }
  if (!strcmp(mode, "stays") || !strcmp(mode, "sleeps")) Sleep(300000);
  static char line[1 << 16];
  const double factor = strcmp(mode, "wrong") ? 2 : 1;
  while (fgets(line, sizeof line, stdin)) {
    double x[3] = {0.5, -1.25, 3}, dy[3] = {1, 1, 1};
    const int is_gradient = read(line, "\"dy\"", dy), is_value = read(line, "\"inputs\": {", x);
    if (!is_value)
      printf("{\"x\": [0.5, -1.25, 3]}\n");
    else if (is_gradient)
      printf("{\"x\": [%.17g, %.17g, %.17g]}\n", factor * x[0] * dy[0], factor * x[1] * dy[1], factor * x[2] * dy[2]);
    else
      printf("{\"y\": [%.17g, %.17g, %.17g]}\n", x[0] * x[0], x[1] * x[1], x[2] * x[2]);
    fflush(stdout);
  }
  return 0;
}
