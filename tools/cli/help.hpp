// The texts of --help.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command.hpp"
#include "tools/cli/command_line.hpp"

namespace glim {

// The verbs, a line each.
std::string program_help(const About& about, const std::vector<Command>& commands);
// The usual options of a verb, or all of them, by group. Defaults are what the fields hold now.
std::string verb_help(const About& about, const Command& command, bool all);

// The heading of an option in the help.
std::string group_of(const Option& option);
// The options by group in the order of the help, without those of another kind of model.
struct OptionGroup {
  std::string name;
  std::vector<const Option*> options;
};
std::vector<OptionGroup> option_groups(const Command& command);

// "--layers N", "-"-less for an argument: "CHECKPOINTS...".
std::string option_usage(const Option& option);

}  // namespace glim
