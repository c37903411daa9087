#include <omp.h>
#include <system_error>
#include <thread>

#include "tensor/system/threads.hpp"

namespace glim {

int available_threads() { return omp_get_max_threads(); }
void limit_other_libraries() { omp_set_num_threads(1); }

// One more team of OpenMP's: the end of a parallel region waits for each of its threads.
void start_threads(int count, std::function<void(int)> f) {
  try {
    std::thread([count, f = std::move(f)] {
#pragma omp parallel num_threads(count)
      f(omp_get_thread_num());
    }).detach();
  } catch (const std::system_error&) {
  }
}

}  // namespace glim
