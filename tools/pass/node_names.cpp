#include "tools/pass/node_names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "tensor/error.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/number.hpp"

namespace glim {
namespace {

bool ends_in(const std::string& path, const std::string& name) {
  return path == name || path.ends_with("." + name);
}

// The ends of all paths that have as many parts as the name.
std::vector<std::string> ends_like(const Pass& pass, const std::string& name) {
  auto parts = std::count(name.begin(), name.end(), '.') + 1;
  std::set<std::string> ends;
  for (const std::string& path : all_paths(pass)) {
    std::size_t begin = path.size();
    for (auto p = parts; p > 0 && begin != std::string::npos && begin > 0; --p)
      begin = path.rfind('.', begin - 1);
    ends.insert(begin == std::string::npos || begin == 0 ? path : path.substr(begin + 1));
  }
  return {ends.begin(), ends.end()};
}

}  // namespace

std::vector<std::string> all_paths(const Pass& pass) {
  std::set<std::string> paths;
  for (const PassNode& n : pass.nodes()) paths.insert(n.path);
  return {paths.begin(), paths.end()};
}

std::vector<int> nodes_named(const Pass& pass, const std::string& name) {
  if (name[0] == '#') {
    const auto number = number_in<Index>(std::string_view(name).substr(1));
    if (!number || *number < 0 || *number >= pass.size())
      throw ValueError(
          "name", fmt::format("there is no node {}: they are #0 to #{}", name, pass.size() - 1));
    return {static_cast<int>(*number)};
  }
  bool pattern = name.find_first_of("*?") != std::string::npos;
  std::vector<int> exact, other;
  for (int i = pass.size() - 1; i >= 0; --i) {
    const std::string& path = pass[i].path;
    if (path == name) exact.push_back(i);
    if (pattern ? glob_match(name, path) : ends_in(path, name)) other.push_back(i);
  }
  if (!exact.empty()) return exact;
  if (!other.empty()) return other;
  throw ValueError("name", fmt::format("no node is called {}{}", name,
                                       nearest_names(name, ends_like(pass, name))));
}

}  // namespace glim
