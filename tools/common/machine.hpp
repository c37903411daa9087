// Reasons why Glim is slow on this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensor/matmul/blas.hpp"
#include "tensor/system/machine.hpp"

namespace glim {

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
