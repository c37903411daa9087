// A heat map: cells of one size, labels at their rows and columns, the scale at the right.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tools/render/color.hpp"
#include "tools/render/drawing.hpp"
#include "tools/render/svg.hpp"
#include "tools/render/ticks.hpp"

namespace glim {
namespace {

constexpr double kMapSide = 560;  // that a map may fill
constexpr double kSmallest = 2, kLabelled = 12, kLargest = 26, kScaleWidth = 14, kScaleGap = 10;
constexpr std::size_t kLabelColumns = 40;
constexpr std::size_t kMostLabelled = 120;  // on a side that grows until each label has room

struct Scale {
  double low, high;
  bool beyond = false;  // values are outside
  double place(double v) const { return high > low ? (v - low) / (high - low) : 0.5; }
};

Scale scale_of(const HeatMap& m) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (double v : m.values)
    if (std::isfinite(v)) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  if (low > high) low = 0, high = 1;
  if (m.diverging) {
    high = std::max(std::abs(low), std::abs(high));
    low = -high;
  }
  Scale s{std::isfinite(m.low) ? m.low : low, std::isfinite(m.high) ? m.high : high};
  if (!(s.low < s.high)) {  // one value: a scale about it
    double around = std::max(std::abs(s.low) * 0.1, 1e-12);
    s.low -= around;
    s.high += around;
  }
  for (double v : m.values) s.beyond = s.beyond || v < s.low || v > s.high;
  return s;
}

std::vector<std::string> cut_labels(const std::vector<std::string>& names, bool& cut) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    out.push_back(cut_to(name, kLabelColumns));
    cut = cut || out.back() != name;
  }
  return out;
}

double widest(const std::vector<std::string>& labels) {
  double w = 0;
  for (const std::string& l : labels) w = std::max(w, text_width(l, kFont));
  return w;
}

// Every how many labels there is room for one.
std::size_t thinning(double cell, double room) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(room / cell)));
}

}  // namespace

std::string to_svg(const HeatMap& m) {
  std::size_t rows = m.rows.size(), columns = m.columns.size();
  if (m.values.size() != rows * columns)
    throw ValueError("heat map", fmt::format("{} rows and {} columns need {} values, not {}", rows,
                                             columns, rows * columns, m.values.size()));
  if (rows * columns > kMostCells)
    throw ValueError("heat map", fmt::format("{} x {} cells are more than the {} of a picture",
                                             rows, columns, kMostCells));
  Scale scale = scale_of(m);
  auto cell_of = [&](std::size_t n) {
    return std::clamp(kMapSide / m.zoom / static_cast<double>(std::max<std::size_t>(n, 1)),
                      n <= kMostLabelled ? kLabelled : kSmallest, kLargest / m.zoom);
  };
  // Square where both fit; long sides shrink alone.
  double cell_x = cell_of(columns), cell_y = cell_of(rows);
  if (std::min(cell_x, cell_y) >= kLabelled) cell_x = cell_y = std::min(cell_x, cell_y);
  double width = cell_x * static_cast<double>(columns), height = cell_y * static_cast<double>(rows);

  bool cut = false;
  std::vector<std::string> row_names = cut_labels(m.rows, cut);
  std::vector<std::string> column_names = cut_labels(m.columns, cut);
  std::size_t row_every = thinning(cell_y, kFont + 1);
  bool turned = widest(column_names) + 4 > cell_x;
  std::size_t column_every = turned ? thinning(cell_x, kFont + 1) : 1;
  double head = turned ? widest(column_names) : kFont;

  Ticks ticks = make_ticks(scale.low, scale.high, false, 5);
  std::vector<std::string> notes;
  if (scale.beyond) notes.emplace_back("values beyond the scale have the colour of its end");
  auto thinned = [&](const char* what, std::size_t every, std::size_t n) {
    if (every > 1 && n > 1) notes.push_back(fmt::format("one in {} {} is labelled", every, what));
  };
  thinned("rows", row_every, rows);
  thinned("columns", column_every, columns);
  if (cut) notes.emplace_back("labels that end in … are longer");
  bool masked = std::any_of(m.values.begin(), m.values.end(), [](double v) { return v != v; });
  if (masked) notes.emplace_back("hatched: masked");

  double left = 12 + (m.row_label.empty() ? 0 : 18) + widest(row_names) + 6;
  double top = 10 + (m.title.empty() ? 0 : 22) + (m.column_label.empty() ? 0 : 18) + head + 8;
  double scale_height = std::max(height, 100.0);
  double total = left + width + kScaleGap * 2 + kScaleWidth + 6 + widest(ticks.labels) + 12;
  total = std::max(total, text_width(m.title, 14) + 24);
  for (const std::string& note : notes) total = std::max(total, text_width(note, 10) + 24);
  double bottom = top + scale_height + 14;
  Svg svg(total, bottom + 14 * static_cast<double>(notes.size()) + 4, m.title, m.zoom);
  if (!m.title.empty()) svg.text(12, 24, m.title, 14, Anchor::Start, 0, "font-weight=\"bold\"");
  if (!m.column_label.empty())
    svg.text(left + width / 2, (m.title.empty() ? 12 : 34) + 12, m.column_label, 12,
             Anchor::Middle);
  if (!m.row_label.empty()) svg.text(22, top + height / 2, m.row_label, 12, Anchor::Middle, 90);
  svg.raw(
      "<defs><pattern id=\"masked\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">"
      "<rect width=\"4\" height=\"4\" fill=\"#e4e4e4\"/>"
      "<path d=\"M0 4L4 0\" stroke=\"#9a9a9a\" stroke-width=\"0.7\"/></pattern></defs>\n");

  svg.raw("<g shape-rendering=\"crispEdges\">\n");
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      double v = m.values[i * columns + j];
      svg.rect(left + cell_x * static_cast<double>(j), top + cell_y * static_cast<double>(i),
               cell_x, cell_y, std::isnan(v) ? "url(#masked)" : color(scale.place(v), m.diverging));
    }
  svg.raw("</g>\n");
  for (std::size_t i = 0; i < rows; i += row_every)
    svg.text(left - 6, top + cell_y * (static_cast<double>(i) + 0.5) + kFont * 0.36, row_names[i],
             kFont, Anchor::End);
  for (std::size_t j = 0; j < columns; j += column_every) {
    double x = left + cell_x * (static_cast<double>(j) + 0.5);
    if (turned)
      svg.text(x + kFont * 0.36, top - 5, column_names[j], kFont, Anchor::Start, 90);
    else
      svg.text(x, top - 5, column_names[j], kFont, Anchor::Middle);
  }

  double scale_x = left + width + kScaleGap * 2;
  constexpr int kSlices = 64;
  svg.raw("<g shape-rendering=\"crispEdges\">\n");
  for (int i = 0; i < kSlices; ++i)
    svg.rect(scale_x, top + scale_height * i / kSlices, kScaleWidth, scale_height / kSlices + 0.5,
             color(1 - (i + 0.5) / kSlices, m.diverging));
  svg.raw("</g>\n");
  for (std::size_t i = 0; i < ticks.values.size(); ++i) {
    double y = top + scale_height * (1 - scale.place(ticks.values[i]));
    svg.line(scale_x + kScaleWidth, y, scale_x + kScaleWidth + 4, y, kInk);
    svg.text(scale_x + kScaleWidth + 7, y + kFont * 0.36, ticks.labels[i], kFont, Anchor::Start);
  }
  for (std::size_t i = 0; i < notes.size(); ++i)
    svg.text(12, bottom + 8 + 14 * static_cast<double>(i), notes[i], 10, Anchor::Start, 0,
             "fill=\"#666666\"");
  return svg.finish();
}

}  // namespace glim
