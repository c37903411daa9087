// Tables of text: a row a record, with columns that have names.
//
//   csv    RFC 4180: commas between fields (semicolons or tabs where the first line has no comma); a field in
//          quotation marks may hold them, line ends (which become spaces) and quotation marks, each written twice
//   tsv    a tab between fields; quotation marks are text
//   jsonl  a JSON object a line; numbers, true and false are taken as they are written, null as ""
//
// The file's name says which one it is (.csv, .tsv, .jsonl), else its first line: "{" begins jsonl, a tab is
// tsv's, a comma or a semicolon csv's.
//
// The first line of csv and tsv names the columns. Columns that are wanted by number ("1", counted from 1)
// have no such line, and neither has a tsv file of as many columns as are wanted by default, none of them
// named so. Names are compared without regard to case; blank lines are left out.
//
// FileError, with file and line, as read_lines gives it, and for a record that is not of its format, has
// another number of columns than the first line, or lacks a column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glim {

// The parts of a line between these characters, empty ones too.
std::vector<std::string> divided(std::string_view line, char divider);

enum class TableFormat { Csv, Tsv, JsonLines };
TableFormat table_format(std::string_view path, std::string_view first_line);

struct Table {
  std::string name;                            // of the file, for messages
  std::vector<std::vector<std::string>> rows;  // the columns asked for, in their order
  std::vector<std::int64_t> line;              // where each row begins, counted from 1
};

// The columns that the user names in `columns`, "NAME,NAME", or else `usual`. ValueError for --columns when
// `columns` is not as many different names as there are usual ones.
Table read_table(const std::string& path, const std::string& columns,
                 const std::vector<std::string>& usual);
// The table of lines that have been read.
Table table_of(const std::string& name, const std::vector<std::string>& lines, TableFormat format,
               const std::string& columns, const std::vector<std::string>& usual);

}  // namespace glim
