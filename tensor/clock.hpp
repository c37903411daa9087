// Time for measurements: seconds since an arbitrary moment; never goes back.
#pragma once

#include <chrono>

namespace glim {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace glim
