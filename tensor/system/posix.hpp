// What Linux and macOS do in different ways (posix_linux.cpp, posix_darwin.cpp).
#pragma once

namespace glim {

char** program_environment();  // "NAME=value" …, null
// A pipe that programs started by this process do not get. Below 0: errno has the reason.
int make_pipe(int ends[2]);
// Madvise's word for pages whose content is of no use.
int unused_pages();

}  // namespace glim
