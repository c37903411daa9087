// Which of a program's calls of the system fail. The environment says it:
//
//   FAULT_COUNTS   a file: a line "KIND CALLS" for each kind, written when the program exits
//   FAULT          "KIND N WHAT", the N-th counted from 1; WHAT is
//                    a number   the call fails with this errno, and does nothing
//                    short      a read or write of half the bytes (of one byte, if it is two or less)
//                    stop       SIGSTOP before the call: the tester does something, and lets the program go on
//                  "KIND N WHAT stay": so does every later call of the kind
//   FAULT_EACH     "K SOCKET FOLDER": in place of the n-th, the 1st, (K + 1)-th, (2K + 1)-th, ... call fails, each in
//                  a copy of the process (copy.hpp) with its files in FOLDER. When it has ended, "N STATUS" is sent
//                  over SOCKET, and the process goes on when something comes back
#pragma once

#include <cstddef>

namespace glim::fuzz {

enum Kind {
  Allocate,
  Open,
  Read,
  Write,
  Print,
  Sync,
  Rename,
  Remove,
  Folder,
  Map,
  Status,
  Locking,
  Close,
  kKinds
};

// From here on calls are counted.
void start_counting();
// Counts a call. Whether it fails (errno says how); if it is to be short, `bytes` are halved.
bool fails(Kind kind, std::size_t* bytes = nullptr);

}  // namespace glim::fuzz
