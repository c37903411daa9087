// "1 line", "3 lines".
#pragma once

#include <string>

namespace glim {

template <class Count>
std::string counted(Count n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace glim
