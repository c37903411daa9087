// The machine that a page runs on, as far as it is known: a module's memory grows to 2 GB.
#include "tools/common/machine.hpp"

namespace glim {

Machine inspect_machine(const std::string&) {
  Machine m;
  m.processors = 1;
  m.memory_bytes = std::int64_t{1} << 31;
  return m;
}

}  // namespace glim
