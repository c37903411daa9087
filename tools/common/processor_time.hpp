// Seconds that the processors have spent on this program, all threads together.
#pragma once

#include <ctime>

namespace glim {

inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace glim
