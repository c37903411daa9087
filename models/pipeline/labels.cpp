#include "models/pipeline/labels.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

#include "tensor/error.hpp"
#include "tensor/io/stored_json.hpp"

namespace glim {
namespace {

std::optional<long long> whole_number(const std::string& text) {
  long long x = 0;
  const char* stop = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), stop, x);
  if (error != std::errc() || end != stop) return {};
  return x;
}

}  // namespace

Labels Labels::of(std::span<const std::string> all, const std::string& where) {
  Labels l;
  l.names_.assign(all.begin(), all.end());
  std::sort(l.names_.begin(), l.names_.end());
  l.names_.erase(std::unique(l.names_.begin(), l.names_.end()), l.names_.end());
  if (l.names_.size() < 2)
    throw FileError(where, "needs at least two different labels, not " +
                               (l.names_.empty() ? "none" : "only '" + l.names_[0] + "'") +
                               ": add examples of another");
  bool numbers = std::all_of(l.names_.begin(), l.names_.end(),
                             [](const std::string& n) { return whole_number(n).has_value(); });
  if (numbers) std::ranges::stable_sort(l.names_, {}, whole_number);
  return l;
}

Labels Labels::from_json(const std::string& text, const std::string& where) {
  return read_json(text, "[]", where, "labels", [](const nlohmann::json& j) {
    Labels l;
    j.get_to(l.names_);
    if (l.names_.size() < 2) throw ValueError("", "there are fewer than two");
    return l;
  });
}

std::string Labels::to_json() const { return nlohmann::json(names_).dump(); }

Index Labels::find(const std::string& name) const {
  auto entry = std::find(names_.begin(), names_.end(), name);
  return entry == names_.end() ? -1 : static_cast<Index>(entry - names_.begin());
}

Index Labels::number(const std::string& name, const std::string& where) const {
  const Index label = find(name);
  if (label < 0) throw FileError(where, "the label '" + name + "' is not one of " + list());
  return label;
}

std::string Labels::list() const { return fmt::format("{}", fmt::join(names_, ", ")); }

}  // namespace glim
