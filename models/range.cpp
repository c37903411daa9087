#include "models/range.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace glim {
namespace {

std::string shortest(double x) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr};
}

}  // namespace

std::string Range::text() const {
  const bool endless = std::isinf(most) || most == kMostCount;
  const std::string low = (above ? "above " : "") + shortest(least);
  if (std::isinf(least)) return endless ? "" : (below ? "below " : "at most ") + shortest(most);
  if (endless) return above ? low : low + " or more";
  if (above) return low + ", " + (below ? "below " : "at most ") + shortest(most);
  return low + " to " + (below ? "below " : "") + shortest(most);
}

std::string Range::refuse(double x) const {
  if (!std::isfinite(x)) return "must be finite";
  if (above ? x <= least : x < least) return "must be " + text();
  if (below ? x < most : x <= most) return {};
  return "must be " + (most == kMostCount ? shortest(most) + " at most" : text());
}

}  // namespace glim
