#include "tools/render/svg.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "models/tokenizers/utf8.hpp"
#include "tools/common/escape.hpp"

namespace glim {
namespace {
constexpr double kColumn = 0.6;  // of the font's size: the mean width of DejaVu Sans's letters
constexpr const char* kFonts = "'DejaVu Sans', 'Noto Sans CJK SC', sans-serif";
}  // namespace

std::string coordinate(double v) {
  if (!std::isfinite(v)) return "0";
  std::string text = fmt::format("{:.2f}", v);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

double text_width(std::string_view text, double size) {
  return kColumn * size * static_cast<double>(display_width(text));
}

std::string cut_to(std::string_view text, std::size_t columns) {
  return display_width(text) > columns ? fit_columns(text, columns) : std::string(text);
}

Svg::Svg(double width, double height, std::string_view title, double zoom) {
  std::string w = coordinate(width), h = coordinate(height);
  body_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" "
      "font-family=\"{}\" role=\"img\">\n<title>{}</title>\n",
      coordinate(zoom * width), coordinate(zoom * height), w, h, kFonts, in_xml(title));
  rect(0, 0, width, height, "#ffffff");
}

void Svg::rect(double x, double y, double width, double height, std::string_view fill,
               std::string_view attributes) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}{}/>\n",
                       coordinate(x), coordinate(y), coordinate(width), coordinate(height), fill,
                       attributes.empty() ? "" : " ", attributes);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke, double width) {
  body_ += fmt::format(
      "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>\n",
      coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2), stroke, coordinate(width));
}

void Svg::text(double x, double y, std::string_view text, double size, Anchor anchor, double turn,
               std::string_view attributes) {
  const char* where = anchor == Anchor::Start    ? "start"
                      : anchor == Anchor::Middle ? "middle"
                                                 : "end";
  std::string turned = turn == 0 ? ""
                                 : fmt::format(" transform=\"rotate({} {} {})\"", coordinate(-turn),
                                               coordinate(x), coordinate(y));
  body_ +=
      fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\"{}{}{}>{}</text>\n",
                  coordinate(x), coordinate(y), coordinate(size), where, turned,
                  attributes.empty() ? "" : " ", attributes, in_xml(text));
}

}  // namespace glim
