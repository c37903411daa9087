// From words on a command line, and lines of a TOML file, to the options of a command.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command.hpp"

namespace glim {

struct About {
  std::string name, version, text;
};

// The command that the line names, its options filled: from the line, then from the file that --config
// names, then by the command's defaults. nullptr when the line asked for help, the version or the
// configuration, which has been printed. UsageError for what was typed, FileError for the file.
//
//   glim                    help                glim train --help [--kind gpt]   the usual options
//   glim help [VERB]        the same            glim train --help-all            all of them
//   glim --version                              glim train --show-config
Command* parse_command_line(const About& about, std::vector<Command>& commands, int argc,
                            const char* const* argv);

// Gives every option of the command that the command line left open the value of a TOML file's key of
// its name. FileError naming file, line and key for unknown keys and tables and for values that do not convert.
void apply_config(Command& command, const std::vector<Command>& all, const std::string& path);

// The options as a configuration file, each with where its value comes from.
std::string effective_config(const About& about, const Command& command);

// Runs the command. An error about an option's value names the file and line that it comes from, or says that
// it is a default.
void run_command(Command& command);

}  // namespace glim
