// The rules of all ops, and the sources of layers and models, taken when the program is built (rules.py, forward.py).
#pragma once

#include <string_view>
#include <vector>

namespace glim::step {

struct Rule {
  std::string_view op, place, code;  // "layer_norm", "layer_norm.cpp:33", "Grads gradient(..."
};
const std::vector<Rule>& rules();

struct Source {
  std::string_view name, text;  // "attention/multihead.cpp", the whole file
};
const std::vector<Source>& forward_sources();

}  // namespace glim::step
