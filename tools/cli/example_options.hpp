// The options that say what is looked at, the same for every verb that looks at one example.
#pragma once

#include "tools/cli/command.hpp"
#include "tools/inspect/example.hpp"

namespace glim {

// --model or --init with the sizes of a fresh model, --source, --target.
void add_example_options(Command& command, ExampleOptions& options);

// Once parsed: what was not given becomes the task's preset. ValueError for sizes of a fresh model
// beside a trained one.
void finish_example_options(const Command& command, ExampleOptions& options);

}  // namespace glim
