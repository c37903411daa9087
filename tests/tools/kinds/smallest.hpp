// The options of a run whose model is as small as a test wants it.
#pragma once

#include <set>
#include <string>

#include "tools/kinds/presets.hpp"

namespace glim::test {

inline TrainOptions smallest(const std::string& kind, const std::string& task = "files") {
  TrainOptions o;
  o.kind = kind;
  o.task = task;
  std::set<std::string> given = {"task"};
  for (auto [key, value] : {std::pair{"layers", 1}, {"d_model", 8}, {"heads", 2}, {"d_ff", 16}})
    if (!o.value(key).is_null()) {
      o.set(key, value);
      given.insert(dashed(key));
    }
  apply_preset(o, [&](const std::string& name) { return given.contains(name); });
  return o;
}

}  // namespace glim::test
