// Colours of values, as "#rrggbb".
//
//   sequential  viridis (van der Walt & Smith 2015): dark blue, green, yellow; lightness rises
//   diverging   blue, white, orange: straight lines in CIELAB from two equally dark ends to white
//
// Equal steps of t look equally large, and both can be told apart without red-green vision.
#pragma once

#include <cstddef>
#include <string>

namespace glim {

// t in [0, 1], cut to it; grey for NaN.
std::string color(double t, bool diverging);
// Colours of lines: Okabe & Ito 2008 ("Color Universal Design"), without yellow; they repeat.
std::string line_color(std::size_t i);

}  // namespace glim
