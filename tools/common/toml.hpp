// Files of `name = value` lines, as config.toml is one.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glim {

// The keys of a TOML text with their first values. FileError naming `where`.
std::vector<std::pair<std::string, std::string>> read_toml(const std::string& text,
                                                           const std::string& where);

}  // namespace glim
