// The options that choose the example, the same for every verb that takes one.
#pragma once

#include "tools/cli/command.hpp"
#include "tools/inspect/example.hpp"

namespace glim {

// --model or --fresh with the sizes of a fresh model, --sentence, --translation. `options` outlives the
// command.
void add_example_options(Command& command, ExampleOptions& options);

// --scale and --remove-head (tools/inspect/changes.hpp), under a heading of their own. `changes` are the example's.
void add_forward_changes(Command& command, Changes& changes);

// ValueError for sizes of a fresh model beside a trained one.
void check_example_options(const Command& command, ExampleOptions& options);

}  // namespace glim
