#include "tools/benchmarks/server.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tensor/clock.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/corpus.hpp"

namespace glim::bench {
namespace {

// Bytes of a line "NAME:  1234 kB" of /proc/self/status.
long long status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name + ":", 0) == 0) return std::stoll(line.substr(name.size() + 1)) * 1024;
  return 0;
}

}  // namespace

void serve(const std::function<std::function<void()>()>& build) {
  std::ofstream("/proc/self/clear_refs") << 5;  // the highest mark starts here
  std::printf("ready %lld\n", status("VmRSS"));
  std::fflush(stdout);
  std::function<void()> work = build();
  for (std::string line; next_line(stdin, line);) {
    if (line == "memory") {
      std::printf("%lld\n", status("VmHWM"));
    } else {
      const long repetitions = std::strtol(line.c_str(), nullptr, 10);
      if (repetitions < 1) throw ValueError("bench", "'" + line + "' is no number of repetitions");
      for (long i = 0; i < repetitions; ++i) {
        double start = seconds_now();
        work();
        std::printf("%s%.9f", i ? " " : "", seconds_now() - start);
      }
      std::printf("\n");
    }
    std::fflush(stdout);
  }
}

}  // namespace glim::bench
