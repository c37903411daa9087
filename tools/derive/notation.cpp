#include "tools/derive/notation.hpp"

#include <array>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace glim {

extern const std::string_view kNotations;     // notation.txt
extern const std::string_view kProgramParts;  // program.py
extern const std::string_view kCppParts;      // program.cpp.in

namespace derive {
namespace {

using Forms = std::array<std::string, 3>;

// Columns are two blanks apart.
std::map<std::string, Forms, std::less<>> read() {
  std::map<std::string, Forms, std::less<>> all;
  std::istringstream lines{std::string(kNotations)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::array<std::string, 4> columns;
    std::size_t at = 0;
    for (std::string& column : columns) {
      const std::size_t end = std::min(line.find("  ", at), line.size());
      column = line.substr(at, end - at);
      at = std::min(line.find_first_not_of(' ', end), line.size());
    }
    for (std::size_t k = 0; k < 3; ++k)
      all[columns[0]][k] = columns[k + 1] == "-" ? columns[1] : columns[k + 1];
  }
  return all;
}

}  // namespace

std::string_view notation(std::string_view op, Language language) {
  static const auto all = read();
  const auto found = all.find(op);
  return found == all.end() ? std::string_view() : found->second[language];
}

std::string program_part(std::string_view name) {
  for (const std::string_view all : {kProgramParts, kCppParts})
    for (const std::string& mark :
         {fmt::format("# ==== {}\n", name), fmt::format("// ==== {}\n", name)})
      if (const std::size_t at = all.find(mark); at != std::string_view::npos) {
        const std::size_t begin = at + mark.size(),
                          end = all.find(mark.substr(0, mark.find(' ') + 6), begin);
        return std::string(all.substr(begin, end == std::string_view::npos ? end : end - begin));
      }
  return {};
}

}  // namespace derive
}  // namespace glim
