// The existing checker on callbacks, and the guesses about a mistake that need to call them.
#pragma once

#include "tools/foreign/calls.hpp"

namespace glim::foreign {

// gradcheck of f as one op. f returns gradients as Calls::gradient does.
GradcheckReport differences(const Function& f, const std::vector<GradcheckInput>& inputs,
                            const GradcheckOptions& options);
// The function whose outputs are output `o` alone.
Function only_output(const Function& f, std::size_t o);
// What the wrong gradient of `f` looks like, after `report` has found it wrong; empty when nothing fits.
std::string name_mistake(const Function& f, const std::vector<GradcheckInput>& inputs,
                         const Tensors& y, const GradcheckReport& report);

}  // namespace glim::foreign
