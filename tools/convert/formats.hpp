// The formats of other programs (formats.toml): the names of weights and settings.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace glim {

enum class Layout { Same, Conv1d, Query, Key, Value, Row, Unused, Sines };  // as in formats.toml

struct NameRow {
  std::string theirs, ours;
  Layout layout = Layout::Same;
};

struct Format {
  std::string name, kind, prefix;
  bool conv1d = false;
  std::vector<NameRow> names;
  std::set<std::string> known;  // settings that change nothing, or are read
  std::vector<std::pair<std::string, std::string>> only;  // settings and their value, in JSON
};

struct Renamed {
  std::string name;
  Layout layout;
};

const std::vector<Format>& formats();
// ValueError(--option) for a name that there is not.
const Format& format_named(std::string_view name, std::string_view option);
// The names of the wrappers of torch.compile and DataParallel are left out.
std::optional<Renamed> our_name(const Format& format, const std::string& theirs);
// One, or three that make up ours; none where the format has no such weight.
std::vector<Renamed> their_names(const Format& format, const std::string& ours);

}  // namespace glim
