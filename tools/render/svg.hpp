// Text of an SVG picture: elements in order, numbers with two decimals, text escaped.
#pragma once

#include <string>
#include <string_view>

namespace glim {

// The font size of labels, and the colour of the lines beside them.
inline constexpr double kFont = 11;
inline constexpr const char* kInk = "#333333";

enum class Anchor { Start, Middle, End };

// "12.5": two decimals at most; 0 for a number that is not finite, so that the picture stays readable.
std::string coordinate(double v);
// The approximate width of a line of text.
double text_width(std::string_view text, double size);
// Cut to `columns` columns, the last "…".
std::string cut_to(std::string_view text, std::size_t columns);

class Svg {
 public:
  // Shown `zoom` times as large.
  Svg(double width, double height, std::string_view title, double zoom = 1);

  void rect(double x, double y, double width, double height, std::string_view fill,
            std::string_view attributes = {});
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width = 1);
  // `turn` degrees counter-clockwise about (x, y); y is the base line.
  void text(double x, double y, std::string_view text, double size, Anchor anchor, double turn = 0,
            std::string_view attributes = {});
  void raw(std::string_view element) { body_ += element; }
  std::string finish() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

}  // namespace glim
