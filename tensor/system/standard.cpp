#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include "tensor/system/threads.hpp"

namespace glim {

// The first number of OMP_NUM_THREADS=4,2 counts, as in OpenMP.
int available_threads() {
  int count = 0;
  if (const char* text = std::getenv("OMP_NUM_THREADS"))
    std::from_chars(text, text + std::strlen(text), count);
  if (count < 1) count = static_cast<int>(std::thread::hardware_concurrency());
  return count < 1 ? 1 : count;
}
void limit_other_libraries() {}

void start_threads(int count, std::function<void(int)> f) {
  try {
    for (int i = 0; i < count; ++i) std::thread(f, i).detach();
  } catch (const std::system_error&) {
  }
}

}  // namespace glim
