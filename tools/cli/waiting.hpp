// How long threads that wait for each other at the end of a loop keep their processors.
//
// GCC's OpenMP lets them ask again and again for 300,000 rounds (some 10 ms) before they sleep. Alone
// on a machine that saves a few microseconds a loop. Beside another program it costs many times as
// much: a thread whose turn that program takes holds up the rest, which use up their own turns waiting,
// so that theirs is not there when work is. 10,000 rounds (some 0.2 ms, longer than a step goes on with
// one thread) cost nothing that can be measured alone; beside one, two and three busy programs on two
// cores a step of `tiny` takes 0.69, 0.60 and 0.55 of the time. With 3,000 decoding alone takes 1.1.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>

namespace glim {

// Called first in main. OpenMP reads the number when it is loaded, so the program starts itself once
// more with it; what the user has set stays. Where that cannot be done, nothing changes.
inline void wait_briefly(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  std::error_code error;
  std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error || ::setenv("GOMP_SPINCOUNT", "10000", 0) != 0) return;
  ::execv(program.c_str(), argv);
  ::unsetenv("GOMP_SPINCOUNT");  // still here: OpenMP does not know of it
}

}  // namespace glim
