// From words on a command line, or lines of a TOML file, to the options of a command. This and
// tools/common/toml.cpp are all that knows CLI11.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command.hpp"

namespace glim {

struct About {
  std::string name, version, text;
};

// The command that the line names, its options filled; nullptr when the line asked for help or the
// version, which has been printed. UsageError.
Command* parse_command_line(const About& about, std::vector<Command>& commands, int argc,
                            const char* const* argv);

// Gives every option of the command that the command line left open the value of a TOML file's key of
// its name. FileError naming file and key for unknown keys and values that do not convert.
void apply_config(Command& command, const std::string& path);

}  // namespace glim
