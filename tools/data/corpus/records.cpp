#include "tools/data/corpus/records.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/common/casing.hpp"
#include "tools/common/number.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/files.hpp"

namespace glim {

std::vector<std::string> divided(std::string_view line, char divider) {
  std::vector<std::string> fields;
  for (;;) {
    std::size_t end = line.find(divider);
    fields.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

namespace {

using Fields = std::vector<std::string>;
constexpr std::ptrdiff_t kMostFields = 10'000;  // of a record

bool names(const std::string& head, const std::string& name) {
  return lower_case(normalize_spaces(head)) == lower_case(name);
}

// Where a name is in the first line, or its length.
std::size_t column_named(const Fields& head, const std::string& name) {
  for (std::size_t i = 0; i < head.size(); ++i)
    if (names(head[i], name)) return i;
  return head.size();
}

Fields wanted_columns(const std::string& columns, const Fields& usual) {
  if (columns.empty()) return usual;
  Fields names = divided(columns, ',');
  for (std::string& n : names) n = normalize_spaces(n);
  std::set<std::string> different(names.begin(), names.end());
  if (names.size() != usual.size() || different.size() != names.size() || different.contains(""))
    throw ValueError("--columns", fmt::format("'{}' must name {} different columns, as in {}",
                                              columns, usual.size(), fmt::join(usual, ",")));
  return names;
}

// Columns counted from 1, as numbers from 0; empty if one of them is no number.
std::vector<std::size_t> as_numbers(const Fields& names) {
  std::vector<std::size_t> numbers;
  for (const std::string& n : names) {
    const auto value = number_in<std::size_t>(n).value_or(0);
    if (value == 0) return {};
    numbers.push_back(value - 1);
  }
  return numbers;
}

// The comma, semicolon or tab that divides the first line of a CSV file outside quotation marks.
char divider_of(std::string_view line) {
  char found = '\t';
  bool quoted = false;
  for (char c : line) {
    quoted ^= c == '"';
    if (!quoted && (c == ',' || (c == ';' && found == '\t'))) found = c;
  }
  return found;
}

class TableReader {
 public:
  TableReader(Table& table, const std::vector<std::string>& lines) : table_(table), lines_(lines) {}

  void read_divided(bool csv, const Fields& keys, bool choice) {
    std::vector<std::size_t> places = as_numbers(keys);
    std::size_t count = 0;  // of columns
    for (row_ = 0; row_ < lines_.size();) {
      const std::size_t begin = row_;
      if (split_spaces(lines_[begin]).empty()) {
        ++row_;
        continue;
      }
      if (count == 0) divider_ = divider_of(lines_[begin]);
      if (!csv && std::ranges::count(lines_[begin], '\t') >= kMostFields) fail_wide(begin);
      Fields fields = csv ? csv_record() : divided(lines_[row_++], '\t');
      if (!csv && !choice && fields.size() < std::min<std::size_t>(keys.size(), 2))
        fail(begin, fmt::format("no tab: the line must be {}", fmt::join(keys, "<TAB>")));
      if (count == 0) {
        count = fields.size();
        if (places.empty() && find_columns(fields, keys, !csv && !choice, begin, places)) continue;
        for (std::size_t i = 0; i < places.size(); ++i)
          if (places[i] >= count)
            fail(begin, fmt::format("there is no column {}: the line has {}", keys[i], count));
      }
      if (fields.size() != count)
        fail(begin,
             fmt::format(
                 "{} column{}, the first line has {}{}", fields.size(),
                 fields.size() == 1 ? "" : "s", count,
                 csv ? " (a field with a comma or semicolon of its own belongs in quotation marks)"
                     : ""));
      Fields row;
      for (std::size_t place : places) row.push_back(fields[place]);
      add(begin, std::move(row));
    }
  }

  void read_objects(const Fields& keys) {
    for (row_ = 0; row_ < lines_.size(); ++row_) {
      const std::string& line = lines_[row_];
      if (split_spaces(line).empty()) continue;
      nlohmann::json json;
      std::set<std::string> members;
      std::string twice;
      using Event = nlohmann::json::parse_event_t;
      auto look = [&](int depth, Event event, nlohmann::json& key) {
        if (event == Event::key && depth == 1 && !members.insert(key.get<std::string>()).second)
          twice = key;
        return true;
      };
      try {
        json = nlohmann::json::parse(line, look);
      } catch (const nlohmann::json::parse_error& e) {
        fail(row_, fmt::format("not JSON, at byte {}: a line must be one object", e.byte));
      } catch (const nlohmann::json::out_of_range&) {
        fail(row_, "not JSON: a number is out of range");
      }
      if (!json.is_object()) fail(row_, "not a JSON object: a line must be one");
      if (!twice.empty()) fail(row_, fmt::format("the object has two members '{}'", twice));
      Fields row;
      for (const std::string& name : keys) row.push_back(member(json, name));
      add(row_, std::move(row));
    }
  }

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& problem) const {
    throw FileError(fmt::format("{}:{}", table_.name, line + 1), problem);
  }

  [[noreturn]] void fail_wide(std::size_t line) const {
    fail(line, fmt::format("more than {} columns", kMostFields));
  }

  void add(std::size_t line, Fields row) {
    table_.rows.push_back(std::move(row));
    table_.line.push_back(static_cast<std::int64_t>(line) + 1);
  }

  // True if the first line names columns; `places` are the places of the wanted columns.
  bool find_columns(const Fields& head, const Fields& keys, bool may_lack_names, std::size_t line,
                    std::vector<std::size_t>& places) const {
    std::string missing;
    for (const std::string& name : keys) {
      places.push_back(column_named(head, name));
      if (places.back() == head.size() && missing.empty()) missing = name;
    }
    for (const std::string& name : keys)
      if (std::ranges::count_if(head, [&](const std::string& h) { return names(h, name); }) > 1)
        fail(line, fmt::format("two columns are named '{}'; --columns takes them by number", name));
    if (missing.empty()) return true;
    bool none = std::ranges::all_of(places, [&](std::size_t p) { return p == head.size(); });
    if (none && may_lack_names && head.size() == keys.size()) {
      for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
      return false;
    }
    Fields numbers;
    for (std::size_t i = 1; i <= keys.size(); ++i) numbers.push_back(std::to_string(i));
    fail(line, fmt::format("there is no column '{}' among {}; --columns {} takes those of other "
                           "names, --columns {} the first of a file without names",
                           missing, fmt::join(head, ", "), keys.size() == 2 ? "NAME,NAME" : "NAME",
                           fmt::join(numbers, ",")));
  }

  // The fields of the record that begins in line row_, which moves behind it.
  Fields csv_record() {
    Fields fields(1);
    std::size_t opened = 0;
    bool quoted = false, closed = false;  // closed: the field has ended with a quotation mark
    for (;; ++row_) {
      const std::string& line = lines_[row_];
      for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
          fields.back() += c;
          ++i;
        } else if (quoted && c == '"') {
          quoted = false;
          closed = true;
        } else if (quoted) {
          fields.back() += c;
        } else if (c == divider_) {
          if (std::ssize(fields) == kMostFields) fail_wide(row_);
          fields.emplace_back();
          closed = false;
        } else if (closed) {
          fail(row_, fmt::format("text behind the quotation mark that ends a field (begun in line "
                                 "{}); a mark within the field is written twice",
                                 opened + 1));
        } else if (c == '"' && fields.back().empty()) {
          quoted = true;
          opened = row_;
        } else if (c == '"') {
          fail(row_,
               "a quotation mark within a field: such a field is put in quotation marks, and "
               "this one is written twice");
        } else {
          fields.back() += c;
        }
      }
      if (!quoted) {
        ++row_;
        return fields;
      }
      if (row_ + 1 == lines_.size()) fail(opened, "a quotation mark is never closed");
      fields.back() += ' ';
    }
  }

  std::string member(const nlohmann::json& object, const std::string& name) const {
    auto found = object.find(name);
    for (auto entry = object.begin(); found == object.end() && entry != object.end(); ++entry)
      if (lower_case(entry.key()) == lower_case(name)) found = entry;
    if (found == object.end())
      fail(row_, fmt::format("the object has no '{}'; --columns says which members to take", name));
    if (found->is_structured()) fail(row_, fmt::format("'{}' must be text", name));
    if (found->is_null()) return {};
    if (!found->is_string()) return found->dump();
    std::string text = *found;
    for (char& c : text)
      if (c == '\n' || c == '\r') c = ' ';
    if (text.find('\0') != std::string::npos) fail(row_, fmt::format("'{}' has a zero byte", name));
    return text;
  }

  Table& table_;
  const std::vector<std::string>& lines_;
  char divider_ = ',';  // of CSV
  std::size_t row_ = 0;
};

}  // namespace

TableFormat table_format(std::string_view path, std::string_view first_line) {
  if (path.ends_with(".csv")) return TableFormat::Csv;
  if (path.ends_with(".tsv")) return TableFormat::Tsv;
  if (path.ends_with(".jsonl")) return TableFormat::JsonLines;
  if (first_line.starts_with('{')) return TableFormat::JsonLines;
  bool commas = first_line.find('\t') == std::string_view::npos &&
                first_line.find_first_of(",;") != std::string_view::npos;
  return commas ? TableFormat::Csv : TableFormat::Tsv;
}

Table table_of(const std::string& name, const std::vector<std::string>& lines, TableFormat format,
               const std::string& columns, const std::vector<std::string>& usual) {
  Table table{name, {}, {}};
  TableReader reader(table, lines);
  const Fields keys = wanted_columns(columns, usual);
  if (format == TableFormat::JsonLines)
    reader.read_objects(keys);
  else
    reader.read_divided(format == TableFormat::Csv, keys, !columns.empty());
  if (table.rows.empty()) throw FileError(name, "has no record");
  return table;
}

Table read_table(const std::string& path, const std::string& columns,
                 const std::vector<std::string>& usual) {
  std::vector<std::string> lines = read_lines(path);
  return table_of(shown_path(path), lines, table_format(path, lines[0]), columns, usual);
}

}  // namespace glim
