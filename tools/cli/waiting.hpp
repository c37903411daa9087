// How long threads that wait for each other at the end of a loop keep their processors.
//
// GCC's OpenMP lets them spin for 300,000 rounds (about 10 ms) before they sleep. Alone on a machine, that
// saves a few microseconds per loop. Beside another program it costs much more: while that program runs in
// place of one thread, the other threads use up their time slices waiting for it, and have none left when
// there is work. With 10,000 rounds (about 0.2 ms, longer than a step runs on one thread) nothing is lost
// alone that can be measured. Beside one, two and three busy programs on two cores, a step of `tiny` takes
// 0.69, 0.60 and 0.55 of the time. With 3,000 rounds, decoding alone takes 1.1 times as long.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>

namespace glim {

// Called first in main. OpenMP reads the number when it is loaded, so the program restarts itself once with
// the number set. A value that the user has set is kept. If the restart fails, nothing changes.
inline void wait_briefly(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  std::error_code error;
  std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error || ::setenv("GOMP_SPINCOUNT", "10000", 0) != 0) return;
  ::execv(program.c_str(), argv);
  ::unsetenv("GOMP_SPINCOUNT");  // still here: OpenMP does not know of it
}

}  // namespace glim
