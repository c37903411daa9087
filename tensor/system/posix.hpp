// Functions that Linux and macOS implement differently (posix_linux.cpp, posix_darwin.cpp).
#pragma once

namespace glim {

char** program_environment();  // "NAME=value" …, null
// A pipe that programs started by this process do not get. Below 0: errno has the reason.
int make_pipe(int ends[2]);
// The advice to madvise() that the content of pages is not needed.
int unused_pages();
const char* browser_program();  // it opens a file as a click does; null without a screen

}  // namespace glim
