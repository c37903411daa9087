// Configuration files: `name = value` lines under [tables], as config.toml is one. Of TOML what a list of
// options needs: text in " or ', numbers, true and false, arrays of them (over several lines too), # comments.
// A word without quotes is text, unless it could be a number.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glim {

struct TomlEntry {
  std::string table, key;  // the table of a dotted key is the part before the last dot
  std::vector<std::string> values;
  int line = 0;
  bool quoted = false;    // a value is in quotation marks
  bool is_table = false;  // the line that opens a table
};

// FileError naming `where` and the line.
std::vector<TomlEntry> parse_toml(const std::string& text, const std::string& where);

// The keys of a TOML text with their first values.
std::vector<std::pair<std::string, std::string>> read_toml(const std::string& text,
                                                           const std::string& where);

}  // namespace glim
