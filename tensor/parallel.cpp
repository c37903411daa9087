#include "tensor/parallel.hpp"

#include <algorithm>
#include <omp.h>
#include <string>

#include "tensor/error.hpp"

namespace glim {
namespace {
// Read once, at the first question: BLAS being told to use one thread lowers it later on.
int& threads() {
  static int n = std::min(omp_get_max_threads(), kMostThreads);
  return n;
}
}  // namespace

int num_threads() { return threads(); }

void set_num_threads(int n) {
  if (n < 1)
    throw ValueError("set_num_threads", "need at least 1 thread, got " + std::to_string(n));
  if (n > kMostThreads)
    throw ValueError("set_num_threads", "at most " + std::to_string(kMostThreads) +
                                            " threads, got " + std::to_string(n));
  threads() = n;
}

void confine_libraries() {
  (void)num_threads();  // read before it is lowered
  omp_set_num_threads(1);
}

bool in_parallel() { return omp_in_parallel(); }

}  // namespace glim
