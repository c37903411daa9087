// The options that choose the example, the same for every verb that takes one.
#pragma once

#include "tools/cli/command.hpp"
#include "tools/kinds/example.hpp"

namespace glim {

// The options of an example (tools/kinds/example.hpp), those that change gradients if `backward`, and --fresh with the sizes
// of a fresh model. `options` outlives the command.
void add_example_options(Command& command, ExampleOptions& options, bool backward);

// ValueError for sizes of a fresh model beside a trained one.
void check_example_options(const Command& command, const ExampleOptions& options);

}  // namespace glim
