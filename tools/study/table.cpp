#include "tools/study/table.hpp"

namespace glim {

const std::vector<Study>& studies() {
  static const std::vector<Study> all = {
      norm_placement_study(),
  };
  return all;
}

}  // namespace glim
