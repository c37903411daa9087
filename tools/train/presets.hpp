// Values with which a kind and a task train well on two cores, for every option that was not given.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/train/options.hpp"

namespace glim {

// `given(name)`: the user has set the option of this name. `took(name, origin)` is called with each option that is set instead,
// and why: "default of --kind gpt", "recipe of --task names". A default that contradicts a given option
// yields to it; the lines returned say so where it may surprise.
std::vector<std::string> apply_preset(
    TrainOptions& options, const std::function<bool(const char* name)>& given,
    const std::function<void(const std::string& name, const std::string& origin)>& took = {});

}  // namespace glim
