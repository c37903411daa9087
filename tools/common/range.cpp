#include "tools/common/range.hpp"

#include <cmath>
#include <fmt/format.h>

namespace glim {

std::string Range::text() const {
  bool endless = std::isinf(most) || most == kMostCount;
  std::string from = fmt::format("{}{}", above ? "above " : "", least);
  if (std::isinf(least))
    return endless ? "" : fmt::format("{}{}", below ? "below " : "at most ", most);
  if (endless) return above ? from : from + " or more";
  if (above) return fmt::format("{}, {}{}", from, below ? "below " : "at most ", most);
  return fmt::format("{} to {}{}", from, below ? "below " : "", most);
}

std::string Range::refuse(double x) const {
  if (!std::isfinite(x)) return "must be finite";
  if (above ? x <= least : x < least) return "must be " + text();
  if (below ? x < most : x <= most) return {};
  return most == kMostCount ? fmt::format("must be {} at most", most) : "must be " + text();
}

}  // namespace glim
