#include "tools/pass/node_names.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/number.hpp"

namespace glim {
namespace {

constexpr std::string_view kHead = "head ";

int size_of(const Tape& tape) { return static_cast<int>(tape.nodes().size()); }

bool ends_in(const std::string& path, const std::string& name) {
  return path == name || path.ends_with("." + name);
}

// The ends of all paths that have as many parts as the name.
std::vector<std::string> ends_like(const Tape& tape, const std::string& name) {
  auto parts = std::count(name.begin(), name.end(), '.') + 1;
  std::set<std::string> ends;
  for (const std::string& path : all_paths(tape)) {
    std::size_t begin = path.size();
    for (auto p = parts; p > 0 && begin != std::string::npos && begin > 0; --p)
      begin = path.rfind('.', begin - 1);
    ends.insert(begin == std::string::npos || begin == 0 ? path : path.substr(begin + 1));
  }
  return {ends.begin(), ends.end()};
}

// Numbers may be negative: from the end.
Tensor along(const Tensor& x, int axis, const std::string& text) {
  const Index extent = x.size(axis);
  auto fail = [&] {
    throw ValueError("part", fmt::format("'{}' is neither a number nor a range such as 1:3", text));
  };
  auto colon = text.find(':');
  auto number = [&](const std::string& part, Index otherwise) {
    if (part.empty() && colon != std::string::npos) return otherwise;
    const auto n = number_in<Index>(part);
    if (!n) fail();
    return *n;
  };
  const bool one = colon == std::string::npos;
  Index first = number(text.substr(0, colon), 0);
  if (first < 0) first += extent;
  Index last = one ? first + 1 : number(text.substr(colon + 1), extent);
  if (!one && last < 0) last += extent;
  if (first < 0 || last > extent || first > last)
    throw IndexError("part", fmt::format("{} is outside an axis of {} elements", text, extent));
  return one ? select(x, axis, first) : narrow(x, axis, first, last - first);
}

}  // namespace

std::vector<std::string> all_paths(const Tape& tape) {
  std::set<std::string> paths;
  for (int i = 0; i < size_of(tape); ++i) paths.insert(tape.path(i));
  return {paths.begin(), paths.end()};
}

std::vector<int> nodes_named(const Tape& tape, const std::string& name) {
  if (name[0] == '#') {
    const auto number = number_in<Index>(std::string_view(name).substr(1));
    if (!number || *number < 0 || *number >= size_of(tape))
      throw ValueError(
          "name", fmt::format("there is no node {}: they are #0 to #{}", name, size_of(tape) - 1));
    return {static_cast<int>(*number)};
  }
  bool pattern = name.find_first_of("*?") != std::string::npos;
  std::vector<int> exact, other;
  for (int i = size_of(tape) - 1; i >= 0; --i) {
    std::string path = tape.path(i);
    if (path == name) exact.push_back(i);
    if (pattern ? glob_match(name, path) : ends_in(path, name)) other.push_back(i);
  }
  if (!exact.empty()) return exact;
  if (!other.empty()) return other;
  throw ValueError("name", fmt::format("no node is called {}{}", name,
                                       nearest_names(name, ends_like(tape, name))));
}

NodeName split_part(const std::string& text) {
  if (auto open = text.find('['); open != std::string::npos) {
    if (text.back() != ']') throw ValueError("part", fmt::format("'{}' does not end in ]", text));
    return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
  }
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {text, ""};
  const std::string head = text.substr(colon + 1);
  if (number_in<Index>(head).value_or(-1) < 0)
    throw ValueError("part",
                     fmt::format("'{}': a head is a whole number after ':', from 0 on", text));
  return {text.substr(0, colon), std::string(kHead) + head};
}

Tensor part_of(const Tensor& x, const std::string& part) {
  if (part.empty()) return x;
  if (part.starts_with(kHead)) {
    const Index head = *number_in<Index>(std::string_view(part).substr(kHead.size()));
    if (x.rank() != 4)
      throw ValueError("part", fmt::format("has no heads: its shape is {}", to_string(x.shape())));
    if (head >= x.size(1))
      throw IndexError("part", fmt::format("has the heads 0 to {}", x.size(1) - 1));
    return select(x, 1, head);
  }
  Tensor y = x;
  std::size_t begin = 0;
  int axis = 0;
  while (begin <= part.size()) {
    std::size_t end = std::min(part.find(',', begin), part.size());
    std::string text = part.substr(begin, end - begin);
    if (axis >= y.rank())
      throw IndexError("part", fmt::format("[{}] has more places than the shape {} has axes", part,
                                           to_string(x.shape())));
    int before = y.rank();
    y = along(y, axis, text);
    if (y.rank() == before) ++axis;
    begin = end + 1;
  }
  return y;
}

void require_factor(double factor, DType dtype) {
  const double rounded = dtype == DType::Float32 ? static_cast<float>(factor) : factor;
  if (std::isinf(rounded) || (rounded == 0 && factor != 0))
    throw ValueError("factor", fmt::format("{} is {} in {}", factor, rounded, name_of(dtype)));
}

Tensor patched(const Patch& patch, const Tensor& x) {
  if (!patch.factor) return {};
  require_factor(*patch.factor, x.dtype());
  const Tensor y = x.clone(), scaled = part_of(y, patch.part);
  if (*patch.factor == 0)
    scaled.fill_(0);
  else
    scaled.copy_(mul(scaled, *patch.factor));
  return y;
}

}  // namespace glim
