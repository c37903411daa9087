// The options that say what is looked at, the same for every verb that looks at one example.
#pragma once

#include "tools/cli/command.hpp"
#include "tools/inspect/specimen.hpp"

namespace glim {

// --model or --init with the sizes of a fresh model, --source, --target.
void add_specimen_options(Command& command, SpecimenOptions& options);

// Once parsed: what was not given becomes the task's preset. ValueError for sizes of a fresh model
// beside a trained one.
void finish_specimen_options(const Command& command, SpecimenOptions& options);

}  // namespace glim
