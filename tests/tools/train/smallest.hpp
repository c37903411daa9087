// The options of a run whose model is as small as a test wants it.
#pragma once

#include <string>
#include <string_view>

#include "tools/train/presets.hpp"

namespace glim::test {

inline TrainOptions smallest(const std::string& kind, const std::string& task = "files") {
  TrainOptions o;
  o.kind = kind;
  o.task = task;
  o.layers = 1;
  o.d_model = 8;
  o.heads = 2;
  o.d_ff = 16;
  apply_preset(o, [](const char* name) {
    const std::string_view given = name;
    return given == "task" || given == "layers" || given == "d-model" || given == "heads" ||
           given == "d-ff";
  });
  return o;
}

}  // namespace glim::test
