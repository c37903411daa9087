// What a kind and a task train well with on two cores, for every option that was not given.
#pragma once

#include <functional>

#include "tools/train/options.hpp"

namespace glim {

// `given(name)`: the user has set the option of this name.
void apply_preset(TrainOptions& options, const std::function<bool(const char* name)>& given);

}  // namespace glim
