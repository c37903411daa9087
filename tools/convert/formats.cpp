#include "tools/convert/formats.hpp"

#include <algorithm>
#include <string_view>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/common/toml.hpp"

namespace glim {

extern const std::string_view kFormats;  // formats.toml

namespace {

constexpr const char* kLayouts[] = {"same",  "conv1d", "query",  "key",
                                    "value", "row",    "unused", "sines"};

NameRow row_of(std::string_view line) {
  const auto words = split_spaces(line);
  NameRow row{std::string(words[0]), words[1] == "-" ? "" : std::string(words[1])};
  if (words.size() > 2)
    row.layout = static_cast<Layout>(std::ranges::find(kLayouts, words[2]) - std::begin(kLayouts));
  return row;
}

std::vector<Format> read_formats() {
  std::vector<Format> list;
  Format common;
  for (const TomlEntry& e : parse_toml(std::string(kFormats), "formats.toml")) {
    if (e.is_table) {
      list.push_back(common);
      list.back().name = e.table;
      continue;
    }
    Format& f = list.empty() ? common : list.back();
    if (e.key == "kind") f.kind = e.values[0];
    if (e.key == "prefix") f.prefix = e.values[0];
    if (e.key == "conv1d") f.conv1d = true;
    for (const std::string& value : e.values) {
      const std::size_t space = value.find(' ');
      if (e.key == "names" && space == std::string::npos)
        f.names = std::ranges::find(list, value, &Format::name)->names;
      else if (e.key == "names")
        f.names.push_back(row_of(value));
      else if (e.key == "only")
        f.only.emplace_back(value.substr(0, space), value.substr(space + 1));
      else if (e.key == "read" || e.key == "harmless")
        for (std::string_view word : split_spaces(value)) f.known.emplace(word);
    }
  }
  return list;
}

std::string_view without_prefix(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

// torch.compile and DataParallel may wrap the model or a part of it, in any order.
std::string without_wrappers(std::string name) {
  for (std::size_t begin = 0, end; (end = name.find('.', begin)) != std::string::npos;) {
    const std::string part = name.substr(begin, end - begin);
    if (part == "_orig_mod" || part == "module")
      name.erase(begin, part.size() + 1);
    else
      begin = end + 1;
  }
  return name;
}

// The parts of a name that '#' and '*' of a pattern match.
struct Match {
  std::string number, rest;
};

std::optional<Match> match(std::string_view pattern, std::string_view name) {
  Match m;
  for (; !pattern.empty(); pattern.remove_prefix(1)) {
    if (pattern[0] == '*') {
      m.rest = name;
      return m;
    }
    if (pattern[0] == '#') {
      std::size_t digits = name.find_first_not_of("0123456789");
      if (digits == 0 || digits == std::string_view::npos) return {};
      m.number = name.substr(0, digits);
      name.remove_prefix(digits);
    } else {
      if (name.empty() || name[0] != pattern[0]) return {};
      name.remove_prefix(1);
    }
  }
  return name.empty() ? std::optional(m) : std::nullopt;
}

std::string filled(std::string_view pattern, const Match& m) {
  std::string name;
  for (char c : pattern) {
    if (c == '#')
      name += m.number;
    else if (c == '*')
      name += m.rest;
    else
      name += c;
  }
  return name;
}

}  // namespace

const std::vector<Format>& formats() {
  static const std::vector<Format> list = read_formats();
  return list;
}

const Format& format_named(std::string_view name, std::string_view option) {
  std::string known;
  for (const Format& f : formats()) {
    if (f.name == name) return f;
    known += (known.empty() ? "" : ", ") + f.name;
  }
  throw ValueError("--" + std::string(option),
                   "'" + std::string(name) + "' is not one of " + known);
}

std::optional<Renamed> our_name(const Format& format, const std::string& theirs) {
  const std::string bare = without_wrappers(theirs);
  const std::string_view name = without_prefix(bare, format.prefix);
  for (const NameRow& row : format.names)
    if (auto m = match(without_prefix(row.theirs, format.prefix), name))
      return Renamed{filled(row.ours, *m), row.layout};
  return {};
}

std::vector<Renamed> their_names(const Format& format, const std::string& ours) {
  std::vector<Renamed> names;
  for (const NameRow& row : format.names) {
    auto m = match(row.ours, ours);
    bool third = row.layout >= Layout::Query && row.layout <= Layout::Value;
    if (m && (names.empty() || third)) names.push_back({filled(row.theirs, *m), row.layout});
  }
  return names;
}

}  // namespace glim
