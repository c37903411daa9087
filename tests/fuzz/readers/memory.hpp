// How much memory malloc and new have given out at once since it was made, as AddressSanitizer sees it: what libraries
// take is counted, too. Tensors of 256 KiB and more are mapped (tensor/fast/arena.hpp) and are not. Without the
// sanitizer 0.
#pragma once

#include <cstddef>

namespace glim::fuzz {

class HighWater {
 public:
  HighWater();
  std::size_t bytes() const;
};

}  // namespace glim::fuzz
