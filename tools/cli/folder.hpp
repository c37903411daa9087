// The folder that a program's results go to.
#pragma once

#include <string>

namespace glim {

// Makes the folder, with those above it, where it is not there, and tries whether a file can be made
// in it: minutes of work should not end in "cannot be written". FileError otherwise.
void make_folder(const std::string& path);

}  // namespace glim
