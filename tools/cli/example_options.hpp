// The options that choose the example, the same for every verb that takes one.
#pragma once

#include "tools/cli/command.hpp"
#include "tools/inspect/example.hpp"

namespace glim {

// --model or --fresh with the sizes of a fresh model, --sentence, --translation. `options` outlives the
// command.
void add_example_options(Command& command, ExampleOptions& options);

// ValueError for sizes of a fresh model beside a trained one.
void check_example_options(const Command& command, const ExampleOptions& options);

}  // namespace glim
