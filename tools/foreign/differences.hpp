// The existing checker on callbacks.
#pragma once

#include "tools/foreign/calls.hpp"

namespace glim::foreign {

// gradcheck of f as one op. f returns gradients as Calls::gradient does.
GradcheckReport differences(const Callbacks& f, const std::vector<GradcheckInput>& inputs,
                            const GradcheckOptions& options);

// Along two random directions, to ordinary digits: one number in 100,000 is right by chance.
bool right_along_two(const Callbacks& f, const std::vector<GradcheckInput>& inputs,
                     GradcheckOptions options);

}  // namespace glim::foreign
