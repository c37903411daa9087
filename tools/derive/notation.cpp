#include "tools/derive/notation.hpp"

#include <sstream>

#include "autograd/functions.hpp"
#include "tools/derive/fill.hpp"

namespace glim {

// The files of this folder.
extern const std::string_view kDerivedNotations, kDerivedFormats, kDerivedProgramParts,
    kDerivedCppParts, kDerivedHeads;

namespace derive {
namespace {

// Lines of a key and three columns, two blanks apart; "-" is as in the first.
class Table {
 public:
  explicit Table(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# ")) continue;
      std::array<std::string, 4> columns;
      std::size_t begin = 0;
      for (std::string& column : columns) {
        const std::size_t end = std::min(line.find("  ", begin), line.size());
        column = line.substr(begin, end - begin);
        begin = std::min(line.find_first_not_of(' ', end), line.size());
        for (std::size_t mark; (mark = column.find("¶")) != std::string::npos;)
          column.replace(mark, std::string_view("¶").size(), "\n");
      }
      for (std::size_t k = 0; k < 3; ++k)
        rows_[columns[0]][k] = columns[k + 1] == "-" ? columns[1] : columns[k + 1];
    }
  }
  std::string_view at(std::string_view key, std::size_t column) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? std::string_view() : found->second[column];
  }

 private:
  std::map<std::string, std::array<std::string, 3>, std::less<>> rows_;
};

}  // namespace

std::string_view notation(std::string_view op, Language language) {
  static const Table table(kDerivedNotations);
#define GLIM_CALL(name, ...) {#name, "5|" #name "({0})"},
  static const std::map<std::string_view, std::string_view> calls{GLIM_FUNCTIONS(GLIM_CALL)};
#undef GLIM_CALL
  const std::string_view form = table.at(op, language);
  const auto call = calls.find(op);
  const bool calls_name =
      form.empty() && call != calls.end() && (language != kNumpy || !text_part(op).empty());
  return calls_name ? call->second : form;
}

std::string_view spelling(std::string_view key, Format format) {
  static const Table table(kDerivedFormats);
  return table.at(key, format);
}

std::string text_part(std::string_view name) {
  for (const std::string_view all : {kDerivedProgramParts, kDerivedCppParts, kDerivedHeads}) {
    const std::string mark = fill_in("==== {}\n", name);
    const std::size_t position = all.find(mark);
    if (position == std::string_view::npos) continue;
    const std::string_view rest = all.substr(position + mark.size());
    const std::size_t next = rest.find("==== ");
    if (next == std::string_view::npos) return std::string(rest);
    return std::string(rest.substr(0, next == 0 ? 0 : rest.rfind('\n', next) + 1));
  }
  return {};
}

}  // namespace derive
}  // namespace glim
