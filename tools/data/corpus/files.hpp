// Reads files in order, pipes too, and gives the system's reason when that fails. (tensor/io/atomic_file.hpp
// writes them.)
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace glim {

// Hands the file to `take` in pieces of at most 1 MiB, in order; "-" is standard input, which can be read
// once. FileError with the path and the system's reason (no such file, is a directory, permission denied …).
void read_pieces(const std::string& path, std::string_view op,
                 const std::function<void(std::string_view)>& take);

std::string read_file(const std::string& path, std::string_view op);

// "standard input" for "-": for messages.
std::string shown_path(const std::string& path);

}  // namespace glim
