// A copy of a running process that does no harm to it.
#pragma once

namespace glim::fuzz {

// Copies the working folder to `folder`, and the process: true in the copy. The copy works in `folder`. Its open files
// are opened anew, with places of their own, in `folder` if they were in the working folder. In the process itself the copy's end
// is awaited, "N STATUS" is sent over the socket, an answer awaited, and false returned; STATUS is negative for a
// signal. The process must have one thread, and name its files relative to the working folder. Aborts if it cannot.
bool run_copy(const char* folder, int socket, long n);

}  // namespace glim::fuzz
