// The verbs of the program, one file each. A verb prints its results to standard output and throws its
// errors; main prints them, as one line.
#pragma once

#include "tools/cli/command_line.hpp"
#include "tools/common/output.hpp"

namespace glim {

using CommandMaker = std::function<Command()>;

Command train_command();
Command translate_command();
Command evaluate_command();
Command generate_command();
Command classify_command();
Command average_command();
Command compare_command();
Command gradcheck_command();
Command course_command();
Command report_command();
Command study_command();
Command inspect_command();
Command live_command();
Command step_command();
Command derive_command();
Command doctor_command();
Command import_command();
Command export_command();
// The verb that describes the verbs of these makers.
Command describe_command(const About& about, const std::vector<CommandMaker>& makers);

}  // namespace glim
