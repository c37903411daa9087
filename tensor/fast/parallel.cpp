#include "tensor/parallel.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
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

void detail::run_pieces(std::int64_t pieces, FunctionRef<void(std::int64_t)> f) {
  std::exception_ptr error;
  std::mutex error_mutex;
#pragma omp parallel for schedule(dynamic, 1) num_threads(num_threads())
  for (std::int64_t i = 0; i < pieces; ++i) {
    try {
      f(i);
    } catch (...) {  // an exception may not leave a parallel region
      std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace glim
