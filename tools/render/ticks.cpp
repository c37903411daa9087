#include "tools/render/ticks.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "tools/common/number.hpp"

namespace glim {
namespace {

constexpr double kSlack = 1e-9;  // of a step: ends that rounding has moved still count

Ticks linear(double low, double high, int count) {
  double rough = (high - low) / count;
  auto power = static_cast<int>(std::floor(std::log10(rough)));
  double unit = std::pow(10.0, power), times = rough / unit;
  int factor = times <= 1.5 ? 1 : times <= 3.5 ? 2 : times <= 7.5 ? 5 : 10;
  double step = factor * unit;
  if (factor == 10) ++power;
  Ticks ticks;
  double first = std::ceil(low / step - kSlack), last = std::floor(high / step + kSlack);
  double largest = std::max(std::abs(low), std::abs(high));
  bool scientific = largest >= 1e6 || largest < 1e-4;
  // Digits after the point that tell neighbours apart.
  int exponent = scientific ? static_cast<int>(std::floor(std::log10(largest))) : 0;
  int digits = std::clamp(exponent - power, 0, 15);
  for (double k = first; k <= last; ++k) {
    double v = k * step;
    ticks.values.push_back(v);
    ticks.labels.push_back(
        v == 0       ? "0"
        : scientific ? fmt::format("{:.{}f}e{}", v / std::pow(10.0, exponent), digits, exponent)
                     : fmt::format("{:.{}f}", v, digits));
  }
  return ticks;
}

Ticks logarithmic_ticks(double low, double high, int count) {
  double begin = std::log10(low), end = std::log10(high), decades = end - begin;
  if (decades < 1) {  // within a decade round numbers say more than powers
    Ticks ticks = linear(low, high, count);
    if (ticks.values.size() >= 2) return ticks;
  }
  Ticks ticks;
  auto first = static_cast<int>(std::floor(begin - kSlack));
  auto last = static_cast<int>(std::ceil(end + kSlack));
  int every = std::max(1, static_cast<int>(std::ceil(decades / count)));
  bool between = decades * 3 <= count * 1.5;
  for (int e = first; e <= last; ++e) {
    if (e % every != 0) continue;
    for (int factor : {1, 2, 5}) {
      if (factor != 1 && !between) continue;
      double v = factor * std::pow(10.0, e), place = std::log10(v);
      if (place < begin - kSlack || place > end + kSlack) continue;
      ticks.values.push_back(v);
      ticks.labels.push_back(four_digits(v));
    }
  }
  return ticks;
}

}  // namespace

Ticks make_ticks(double low, double high, bool logarithmic, int count) {
  count = std::max(count, 2);
  return logarithmic ? logarithmic_ticks(low, high, count) : linear(low, high, count);
}

}  // namespace glim
