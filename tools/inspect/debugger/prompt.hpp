// Lines for the debugger: from a terminal (line_editor.hpp), or from a file or a pipe.
#pragma once

#include "tools/inspect/debugger/debugger.hpp"

namespace glim::step {

// Runs commands until the end of the input or `quit`. Errors go to standard error, in a script with the
// number of the line. Returns the exit status: 1 when a line of a script failed.
//
// At a terminal Control-C drops the line, or stops the command at work.
int converse(Debugger& debugger, bool terminal);

// True if Control-C was pressed since the last line was read.
bool interrupted();

}  // namespace glim::step
