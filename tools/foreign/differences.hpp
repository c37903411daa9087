// The existing checker on callbacks.
#pragma once

#include "tools/foreign/calls.hpp"

namespace glim::foreign {

// gradcheck of f as one op. f returns gradients as Calls::gradient does.
GradcheckReport differences(const Function& f, const std::vector<GradcheckInput>& inputs,
                            const GradcheckOptions& options);

}  // namespace glim::foreign
