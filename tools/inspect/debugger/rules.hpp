// The rules of all ops as in the sources, taken when the program is built (rules.py).
#pragma once

#include <string_view>
#include <vector>

namespace glim::step {

struct Rule {
  std::string_view op, place, code;  // "layer_norm", "layer_norm.cpp:33", "Grads gradient(..."
};
const std::vector<Rule>& rules();

}  // namespace glim::step
