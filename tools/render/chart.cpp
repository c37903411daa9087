// A line chart: frame, ticks with a light grid, one series after the other, a legend at the right.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "tools/render/color.hpp"
#include "tools/render/drawing.hpp"
#include "tools/render/svg.hpp"
#include "tools/render/ticks.hpp"

namespace glim {
namespace {

constexpr double kFrameWidth = 520, kFrameHeight = 320;  // of the frame
constexpr std::size_t kNameColumns = 32, kMostNames = 16;

struct Axis {
  double low = HUGE_VAL, high = -HUGE_VAL;
  bool logarithmic = false;

  bool takes(double v) const { return std::isfinite(v) && (!logarithmic || v > 0); }
  void include(double v) {
    if (!takes(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  double scaled(double v) const { return logarithmic ? std::log10(v) : v; }
  // 0 at low, 1 at high.
  double place(double v) const { return (scaled(v) - scaled(low)) / (scaled(high) - scaled(low)); }
  // Some air about the data; something to draw where there are none, or one value.
  void widen(double share) {
    if (low > high) low = logarithmic ? 0.1 : 0, high = 1;
    double extent = scaled(high) - scaled(low);
    double most = std::max(std::abs(scaled(low)), std::abs(scaled(high)));
    if (extent <= 1e-12 * most || extent == 0)  // one value
      share = 1, extent = logarithmic ? 0.3 : std::max(most * 0.1, 1e-12);
    double amount = share * extent;
    low = logarithmic ? low / std::pow(10, amount) : low - amount;
    high = logarithmic ? high * std::pow(10, amount) : high + amount;
  }
};

// Dashes and shapes tell more series apart than there are colours.
std::string stroke(std::size_t i) {
  static constexpr const char* kDashes[] = {"", " stroke-dasharray=\"6 3\"",
                                            " stroke-dasharray=\"2 2\"",
                                            " stroke-dasharray=\"8 3 2 3\""};
  return fmt::format("stroke=\"{}\" stroke-width=\"1.6\"{}", line_color(i),
                     kDashes[(i / 7) % std::size(kDashes)]);
}

std::string mark(std::size_t i, double x, double y) {
  std::string fill = line_color(i);
  auto c = [](double v) { return coordinate(v); };
  switch (i % 4) {
    case 0:
      return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"2.6\" fill=\"{}\"/>\n", c(x), c(y), fill);
    case 1:
      return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"5\" height=\"5\" fill=\"{}\"/>\n",
                         c(x - 2.5), c(y - 2.5), fill);
    case 2:
      return fmt::format("<path d=\"M{} {}l3.2 5.6h-6.4z\" fill=\"{}\"/>\n", c(x), c(y - 3.4),
                         fill);
    default:
      return fmt::format("<path d=\"M{} {}l3.4 3.4l-3.4 3.4l-3.4 -3.4z\" fill=\"{}\"/>\n", c(x),
                         c(y - 3.4), fill);
  }
}

struct Frame {
  double left, top;
  Axis x, y;
  double at_x(double v) const { return left + kFrameWidth * x.place(v); }
  double at_y(double v) const { return top + kFrameHeight * (1 - y.place(v)); }
};

void draw_band(Svg& svg, const Series& s, std::size_t i, const Frame& f) {
  std::string forth, back;
  auto close = [&] {
    if (!forth.empty())
      svg.raw(fmt::format("<polygon points=\"{}{}\" fill=\"{}\" fill-opacity=\"0.18\"/>\n", forth,
                          back, line_color(i)));
    forth.clear();
    back.clear();
  };
  for (std::size_t k = 0; k < s.x.size(); ++k) {
    if (!f.x.takes(s.x[k]) || !f.y.takes(s.low[k]) || !f.y.takes(s.high[k])) {
      close();
      continue;
    }
    std::string x = coordinate(f.at_x(s.x[k]));
    forth += x + "," + coordinate(f.at_y(s.low[k])) + " ";
    back = x + "," + coordinate(f.at_y(s.high[k])) + " " + back;
  }
  close();
}

// Returns how many points could not be drawn.
std::size_t draw(Svg& svg, const Series& s, std::size_t i, const Frame& f) {
  if (!s.low.empty()) draw_band(svg, s, i, f);
  std::string points;
  std::size_t lost = 0, run = 0;
  auto gap = [&](std::size_t k) {
    return k >= s.x.size() || !f.x.takes(s.x[k]) || !f.y.takes(s.y[k]);
  };
  auto close = [&] {
    if (s.line && run > 1)
      svg.raw(fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", points, stroke(i)));
    points.clear();
    run = 0;
  };
  for (std::size_t k = 0; k < s.x.size(); ++k) {
    if (gap(k)) {
      ++lost;
      close();
      continue;
    }
    points += (run++ ? " " : "") + coordinate(f.at_x(s.x[k])) + "," + coordinate(f.at_y(s.y[k]));
  }
  close();
  for (std::size_t k = 0; k < s.x.size(); ++k) {
    // A point between gaps has no line to show it.
    bool lonely = (k == 0 || gap(k - 1)) && gap(k + 1);
    if (!gap(k) && (s.marks || !s.line || lonely)) svg.raw(mark(i, f.at_x(s.x[k]), f.at_y(s.y[k])));
  }
  return lost;
}

void draw_axes(Svg& svg, const Chart& chart, const Frame& f, const Ticks& xs, const Ticks& ys) {
  double right = f.left + kFrameWidth, bottom = f.top + kFrameHeight;
  for (std::size_t i = 0; i < xs.values.size(); ++i) {
    double x = f.at_x(xs.values[i]);
    svg.line(x, f.top, x, bottom, "#e6e6e6");
    svg.line(x, bottom, x, bottom + 4, kInk);
    svg.text(x, bottom + 16, xs.labels[i], kFont, Anchor::Middle);
  }
  for (std::size_t i = 0; i < ys.values.size(); ++i) {
    double y = f.at_y(ys.values[i]);
    svg.line(f.left, y, right, y, "#e6e6e6");
    svg.line(f.left - 4, y, f.left, y, kInk);
    svg.text(f.left - 7, y + kFont * 0.36, ys.labels[i], kFont, Anchor::End);
  }
  svg.rect(f.left, f.top, kFrameWidth, kFrameHeight, "none", "stroke=\"#333333\"");
  if (!chart.x_label.empty())
    svg.text(f.left + kFrameWidth / 2, bottom + 34, chart.x_label, 12, Anchor::Middle);
  if (!chart.y_label.empty())
    svg.text(20, f.top + kFrameHeight / 2, chart.y_label, 12, Anchor::Middle, 90);
}

}  // namespace

std::string to_svg(const Chart& chart) {
  Frame f{};
  f.x.logarithmic = chart.log_x;
  f.y.logarithmic = chart.log_y;
  for (const Series& s : chart.series) {
    for (std::size_t k = 0; k < s.x.size(); ++k) {
      if (!f.x.takes(s.x[k]) || !f.y.takes(s.y[k])) continue;
      f.x.include(s.x[k]);
      f.y.include(s.y[k]);
      if (!s.low.empty()) f.y.include(s.low[k]), f.y.include(s.high[k]);
    }
  }
  f.x.widen(0.02);
  f.y.widen(0.05);
  Ticks xs = make_ticks(f.x.low, f.x.high, chart.log_x, 7);
  Ticks ys = make_ticks(f.y.low, f.y.high, chart.log_y, 6);

  double tick_width = 0, legend = 0;
  for (const std::string& l : ys.labels) tick_width = std::max(tick_width, text_width(l, kFont));
  f.left = 14 + (chart.y_label.empty() ? 0 : 18) + tick_width + 8;
  f.top = 14 + (chart.title.empty() ? 0 : 22);
  std::size_t named = chart.series.size() > 1 ? std::min(chart.series.size(), kMostNames) : 0;
  for (std::size_t i = 0; i < named; ++i)
    legend = std::max(legend, 30 + text_width(cut_to(chart.series[i].name, kNameColumns), kFont));
  double bottom = f.top + kFrameHeight + 24 + (chart.x_label.empty() ? 0 : 18);
  double width = f.left + kFrameWidth + (named ? 14 + legend : 0) + 16;
  width = std::max(width, text_width(chart.title, 14) + 24);
  Svg svg(width, bottom + 18, chart.title);
  if (!chart.title.empty())
    svg.text(f.left, 24, chart.title, 14, Anchor::Start, 0, "font-weight=\"bold\"");
  draw_axes(svg, chart, f, xs, ys);
  std::size_t lost = 0;
  for (std::size_t i = 0; i < chart.series.size(); ++i) lost += draw(svg, chart.series[i], i, f);

  double x = f.left + kFrameWidth + 14;
  for (std::size_t i = 0; i < named; ++i) {
    double y = f.top + 10 + 17 * static_cast<double>(i);
    const Series& s = chart.series[i];
    if (s.line)
      svg.raw(fmt::format("<path d=\"M{} {}h22\" fill=\"none\" {}/>\n", coordinate(x),
                          coordinate(y), stroke(i)));
    if (s.marks || !s.line) svg.raw(mark(i, x + 11, y));
    svg.text(x + 28, y + kFont * 0.36, cut_to(s.name, kNameColumns), kFont, Anchor::Start);
  }
  if (named < chart.series.size() && chart.series.size() > 1)
    svg.text(x + 28, f.top + 14 + 17 * static_cast<double>(named),
             fmt::format("and {} more", chart.series.size() - named), kFont, Anchor::Start);
  if (lost > 0)
    svg.text(
        f.left, bottom + 10,
        fmt::format("{} {} not drawn: not finite{}", lost, lost == 1 ? "point is" : "points are",
                    chart.log_x || chart.log_y ? ", or not positive" : ""),
        10, Anchor::Start, 0, "fill=\"#666666\"");
  return svg.finish();
}

}  // namespace glim
