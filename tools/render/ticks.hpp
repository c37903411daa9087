// Ticks of an axis: round numbers, 1, 2 or 5 times a power of ten apart; on a logarithmic axis
// powers of ten, with 2 and 5 between them where there are few.
#pragma once

#include <string>
#include <vector>

namespace glim {

struct Ticks {
  std::vector<double> values;
  std::vector<std::string> labels;
};
// About `count` of them (at least 2) within [low, high], both finite and low < high; on a
// logarithmic axis 0 < low.
Ticks make_ticks(double low, double high, bool logarithmic, int count = 6);

}  // namespace glim
