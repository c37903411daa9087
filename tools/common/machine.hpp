// The machine as Linux describes it (/proc, /sys, the scheduler), and what about it makes Glim slow.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tensor/matmul/blas.hpp"

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

// `root` is a prefix of /proc and /sys, for tests.
Machine inspect_machine(const std::string& root = "");

// How Glim runs on it.
struct Runtime {
  BlasInfo blas;
  int threads = 0;
  std::optional<std::string> threads_variable;  // OMP_NUM_THREADS
  bool optimized = true, sanitized = false;
};

struct Advice {
  std::string problem, remedy;
};
std::vector<Advice> advise(const Machine& machine, const Runtime& runtime);

}  // namespace glim
