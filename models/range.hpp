// The values that a number may have. Every range contains finite numbers only.
#pragma once

#include <limits>
#include <string>

namespace glim {

struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above = false, below = false;  // least or most itself is excluded

  std::string text() const;  // "1 or more", "0 to below 1"; empty for all finite numbers
  // "must be 1 or more"; empty when x is in the range.
  std::string refuse(double x) const;
};

// Beyond 2^53 a number in a JSON file, a double, may not be the one that was meant.
inline constexpr double kMostCount = 0x1p53;

inline constexpr Range kPositive{1, kMostCount};
inline constexpr Range kCount{0, kMostCount};
inline constexpr Range kBeam{1, 1000};  // a prefix takes memory at each step
inline constexpr Range kShare{0, 1, false, true};
inline constexpr Range kNotNegative{0};
inline constexpr Range kAboveZero{.least = 0, .above = true};

}  // namespace glim
