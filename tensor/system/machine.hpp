// The machine as the system describes it.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace glim {

struct Machine {
  std::string cpu;                 // "AMD EPYC"
  std::set<std::string> features;  // as in /proc/cpuinfo: "avx2", "avx512f", …
  int processors = 0;              // that this process may run on
  int cores = 0;                   // physical; 0: unknown
  double quota = 0;  // processors' worth of time that the container grants; 0: no limit
  double load = 0;   // average of the last minute
  std::int64_t memory_bytes = 0;  // or what the container grants of it
  std::int64_t available_bytes = 0;
  std::string huge_pages;  // "always", "madvise", "never", or empty
};

// `root` is a prefix of Linux's /proc and /sys, for tests.
Machine inspect_machine(const std::string& root = "");

}  // namespace glim
