// A child process, with a pipe to each of its standard streams.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glim {

// A word as a POSIX shell reads it, on every system.
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+,:@";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}
std::string command_word(std::string_view text);  // as this system's shell reads it
// A command of the shell: a program with its arguments, and variables of its environment.
std::string shell_command(const std::vector<std::pair<std::string, std::string>>& variables,
                          const std::vector<std::string>& words);
// True where a program can keep itself from opening files and connections (tools/course/runner.cpp).
bool can_confine_programs();

// A pipe from children to this process. They write to the number or handle name(). What does not fit is dropped.
class SharedPipe {
 public:
  SharedPipe();
  SharedPipe(const SharedPipe&) = delete;
  SharedPipe& operator=(const SharedPipe&) = delete;
  ~SharedPipe();
  std::string name() const;
  std::string read() const;  // the first 64 KB of what is there

 private:
  struct Ends;
  std::unique_ptr<Ends> ends_;
};

class ChildProcess {
 public:
  // The command is one of the system's shell: /bin/sh, or cmd.exe. When this process ends, by whatever signal, the child
  // is ended, and all that it started. std::system_error if it does not start.
  explicit ChildProcess(const std::string& command);
  ~ChildProcess();  // closes its input; ends it, and all that it started, a second later

  // Waits until bytes pass. Removes from `input` what is on its way, appends what has come. False: `seconds` are over.
  // std::system_error if a stream fails. A child that closed its input drops what is sent.
  bool exchange(std::string_view& input, std::string& output, std::string& errors, double seconds);
  bool output_ended() const;
  void close_input();

  // True if it ends within `seconds`. Its Ending is known then.
  bool ended(double seconds);
  struct Ending {
    int status = 0;  // 128 + signal after one
    int signal = 0;
    bool killed = false;  // from outside: SIGKILL
    std::string signal_name{};
    double seconds = 0;  // of processor time
  };
  const Ending& ending() const;

 private:
  struct System;
  std::unique_ptr<System> system_;
};

}  // namespace glim
