// Pictures for papers and slides: line charts and heat maps as SVG. (A browser shows them, and saves them as PNG.)
//
// The text of a picture depends on its data alone: the same data give the same bytes. Text is
// measured in columns (models/tokenizers/utf8.hpp), so it may differ from the font's width by a little.
//
// A line at the bottom of a picture names what it cannot show: points that are not finite or, on a
// logarithmic axis, not positive; labels without room; values beyond the scale.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace glim {

struct Series {
  std::string name;
  std::vector<double> x, y;
  std::vector<double> low, high;  // of y: a band behind the line; both may be empty
  bool line = true, marks = true;
};
struct Chart {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<Series> series;  // a legend names them when there are several
};
// The vectors of a series have the same length.
std::string to_svg(const Chart& chart);

struct HeatMap {
  std::string title, row_label, column_label;
  std::vector<std::string> rows, columns;
  std::vector<double> values;  // row-major, rows x columns; NaN: masked, drawn hatched
  bool diverging = false;      // white in the middle of the scale
  // The scale. NaN: from the data; of a diverging one symmetric about 0.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  double zoom = 1;  // of labels, which have 11 px; cells stay as they are while labels fit
};
// ValueError when the number of values is not rows x columns, or beyond kMostCells.
std::string to_svg(const HeatMap& map);
constexpr std::size_t kMostCells = 250'000;

}  // namespace glim
