#include "tools/render/color.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace glim {
namespace {

using Triple = std::array<double, 3>;

// Every tenth of viridis, sRGB bytes.
constexpr std::array<Triple, 11> kViridis = {{{68, 1, 84},
                                              {72, 36, 117},
                                              {65, 68, 135},
                                              {53, 95, 141},
                                              {42, 120, 142},
                                              {33, 145, 140},
                                              {34, 168, 132},
                                              {68, 191, 112},
                                              {122, 209, 81},
                                              {189, 223, 38},
                                              {253, 231, 37}}};
// L*, a*, b*
constexpr Triple kBlue = {42, 8, -50}, kWhite = {97, 0, 0}, kOrange = {42, 33, 52};
constexpr Triple kD65 = {0.95047, 1, 1.08883};
constexpr double kDelta = 6.0 / 29;  // of CIELAB's linear part

std::string hex(const Triple& rgb) {
  auto byte = [](double v) {
    return static_cast<int>(std::lround(std::min(std::max(v, 0.0), 255.0)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", byte(rgb[0]), byte(rgb[1]), byte(rgb[2]));
}

Triple mix(const Triple& a, const Triple& b, double t) {
  return {a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])};
}

double encoded(double v) {
  return 255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055);
}

Triple lab_to_rgb(const Triple& lab) {
  double fy = (lab[0] + 16) / 116, fx = fy + lab[1] / 500, fz = fy - lab[2] / 200;
  auto back = [](double f) {
    return f > kDelta ? f * f * f : 3 * kDelta * kDelta * (f - 4.0 / 29);
  };
  double x = kD65[0] * back(fx), y = kD65[1] * back(fy), z = kD65[2] * back(fz);
  return {encoded(3.2404542 * x - 1.5371385 * y - 0.4985314 * z),
          encoded(-0.9692660 * x + 1.8760108 * y + 0.0415560 * z),
          encoded(0.0556434 * x - 0.2040259 * y + 1.0572252 * z)};
}

}  // namespace

std::string color(double t, bool diverging) {
  if (std::isnan(t)) return "#bbbbbb";
  t = std::min(std::max(t, 0.0), 1.0);
  if (diverging)
    return hex(lab_to_rgb(t < 0.5 ? mix(kBlue, kWhite, 2 * t) : mix(kWhite, kOrange, 2 * t - 1)));
  double place = t * static_cast<double>(kViridis.size() - 1);
  auto i = std::min(static_cast<std::size_t>(place), kViridis.size() - 2);
  return hex(mix(kViridis[i], kViridis[i + 1], place - static_cast<double>(i)));
}

std::string line_color(std::size_t i) {
  static constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                            "#56b4e9", "#e69f00", "#000000"};
  return kColors[i % std::size(kColors)];
}

}  // namespace glim
