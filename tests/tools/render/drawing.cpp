// Charts, heat maps and their colours: whole XML, ticks, what is left out and said.

#include "tools/render/drawing.hpp"

#include <cmath>
#include <stack>

#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tools/render/color.hpp"
#include "tools/render/svg.hpp"
#include "tools/render/ticks.hpp"

namespace test_drawing {

using namespace glim;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Enough of XML 1.0 for our own pictures: tags nest, attributes are quoted, no bare & or <.
bool well_formed(const std::string& xml) {
  std::stack<std::string> open;
  std::size_t i = 0;
  auto entity = [&](std::size_t at) {
    for (const char* e : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
      if (xml.compare(at, std::string(e).size(), e) == 0) return true;
    return false;
  };
  while (i < xml.size()) {
    if (xml[i] == '&' && !entity(i)) return false;
    if (xml[i] != '<') {
      ++i;
      continue;
    }
    bool closing = xml[i + 1] == '/';
    i += closing ? 2 : 1;
    std::string name;
    while (i < xml.size() && (std::isalpha(static_cast<unsigned char>(xml[i])))) name += xml[i++];
    if (name.empty()) return false;
    bool quoted = false;
    for (; i < xml.size() && (quoted || xml[i] != '>'); ++i) {
      if (xml[i] == '"') quoted = !quoted;
      if (xml[i] == '<' || (xml[i] == '&' && !entity(i))) return false;
    }
    if (i == xml.size()) return false;
    bool empty = xml[i - 1] == '/';
    ++i;
    if (closing) {
      if (open.empty() || open.top() != name) return false;
      open.pop();
    } else if (!empty) {
      open.push(name);
    }
    if (open.empty() && i + 1 < xml.size()) return false;
  }
  return open.empty();
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

HeatMap small_map() {
  HeatMap m;
  m.title = "attention <A> & \"B\"";
  m.rows = {"我", "b"};
  m.columns = {"x", "y", "</s>"};
  m.values = {0, 0.5, 1, kNan, 0.25, 0.75};
  return m;
}

TEST_CASE("ticks are 1, 2 or 5 times a power of ten apart", "[drawing]") {
  Ticks t = make_ticks(0, 1, false, 5);
  CHECK(t.labels == std::vector<std::string>{"0", "0.2", "0.4", "0.6", "0.8", "1.0"});
  CHECK(make_ticks(-3, 17, false, 4).labels == std::vector<std::string>{"0", "5", "10", "15"});
  CHECK(make_ticks(1234567, 1234577, false, 2).values.size() >= 2);
  for (double extent : {3e-9, 0.004, 0.7, 1.0, 42.0, 9.9e7})
    for (double from : {0.0, -1.0, 0.37}) {
      Ticks at = make_ticks(from * extent, (from + 1) * extent, false, 6);
      REQUIRE(at.values.size() >= 3);
      double step = at.values[1] - at.values[0];
      double mantissa = step / std::pow(10, std::floor(std::log10(step * (1 + 1e-9))));
      CHECK((mantissa == Approx(1) || mantissa == Approx(2) || mantissa == Approx(5)));
      for (std::size_t i = 1; i < at.labels.size(); ++i) CHECK(at.labels[i] != at.labels[i - 1]);
    }
}

TEST_CASE("logarithmic ticks are decades", "[drawing]") {
  CHECK(make_ticks(1e-4, 1, true).labels ==
        std::vector<std::string>{"0.0001", "0.001", "0.01", "0.1", "1"});
  CHECK(make_ticks(1, 100, true).labels ==
        std::vector<std::string>{"1", "2", "5", "10", "20", "50", "100"});
  CHECK(make_ticks(3, 7, true).values.size() >= 3);
  CHECK(make_ticks(1e-30, 1, true).values.size() <= 8);
}

namespace {

double decoded(double byte) {  // IEC 61966-2-1
  double v = byte / 255;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

// CIE 1976 L* of "#rrggbb" (sRGB, D65): 0 black, 100 white.
double lightness(const std::string& c) {
  constexpr double kDelta = 6.0 / 29;
  auto channel = [&](std::size_t at) { return decoded(std::stoi(c.substr(at, 2), nullptr, 16)); };
  double y = 0.2126729 * channel(1) + 0.7151522 * channel(3) + 0.0721750 * channel(5);
  double f = y > kDelta * kDelta * kDelta ? std::cbrt(y) : y / (3 * kDelta * kDelta) + 4.0 / 29;
  return 116 * f - 16;
}

}  // namespace

TEST_CASE("colours: lightness rises, and falls away from the middle of a diverging scale",
          "[drawing]") {
  for (int i = 1; i <= 100; ++i) {
    INFO(i);
    CHECK(lightness(color(i / 100.0, false)) > lightness(color((i - 1) / 100.0, false)));
    double to = lightness(color(i / 100.0, true)), from = lightness(color((i - 1) / 100.0, true));
    CHECK((i <= 50 ? to > from : to < from));
  }
  CHECK(color(0, false) == "#440154");
  CHECK(color(1, false) == "#fde725");
  CHECK(color(2, false) == color(1, false));
  CHECK(color(-HUGE_VAL, true) == color(0, true));
  CHECK(color(kNan, false) == "#bbbbbb");
  CHECK(lightness(color(0, true)) == Approx(lightness(color(1, true))).margin(2));
  CHECK(lightness(color(0.5, true)) > 95);
}

TEST_CASE("a heat map is whole XML with a cell for each value", "[drawing]") {
  HeatMap m = small_map();
  std::string svg = to_svg(m);
  CHECK(well_formed(svg));
  CHECK(svg == to_svg(m));
  CHECK(count(svg, "url(#masked)") == 1);
  CHECK(svg.find("attention &lt;A&gt; &amp; &quot;B&quot;") != std::string::npos);
  CHECK(svg.find("hatched: masked") != std::string::npos);
  CHECK(svg.find("DejaVu Sans") != std::string::npos);
  m.high = 0.6;
  CHECK(to_svg(m).find("beyond the scale") != std::string::npos);
  m.values.pop_back();
  CHECK_THROWS_AS(to_svg(m), ValueError);
  CHECK(well_formed(to_svg(HeatMap{})));
}

TEST_CASE("a diverging map is white at 0", "[drawing]") {
  HeatMap m;
  m.rows = {"r"};
  m.columns = {"a", "b", "c"};
  m.values = {-1, 0, 4};
  m.diverging = true;
  std::string svg = to_svg(m);
  CHECK(svg.find(color(0.5, true)) != std::string::npos);
  CHECK(svg.find(color(1, true)) != std::string::npos);
  CHECK(svg.find(color(0.375, true)) != std::string::npos);
  CHECK(color(0, true) == "#0764b6");  // below 0: blue
  CHECK(color(1, true) == "#a14a00");  // above: orange
}

TEST_CASE("labels that have no room are left out, and it is said", "[drawing]") {
  HeatMap m;
  for (int i = 0; i < 300; ++i) m.columns.push_back("step " + std::to_string(i));
  m.rows = {"a very long name of a module that no margin could ever hold"};
  m.values.assign(300, 1);
  std::string svg = to_svg(m);
  CHECK(well_formed(svg));
  CHECK(svg.find("one in 6 columns is labelled") != std::string::npos);
  CHECK(svg.find("step 1<") == std::string::npos);
  CHECK(svg.find("…") != std::string::npos);
  m.values.assign(kMostCells + 1, 0);
  m.rows = {"r"};
  m.columns.assign(kMostCells + 1, "c");
  CHECK_THROWS_AS(to_svg(m), ValueError);
}

TEST_CASE("a chart leaves out what it cannot draw, and says so", "[drawing]") {
  Chart c;
  c.title = "loss";
  c.log_y = true;
  c.series.push_back({"run & <one>", {1, 2, 3, 4}, {1, 0, kNan, 10}, {}, {}});
  std::string svg = to_svg(c);
  CHECK(well_formed(svg));
  CHECK(svg.find("2 points are not drawn") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(count(svg, "<circle") == 2);
  CHECK(count(svg, "<polyline") == 0);  // the gap divides them
  c.log_y = false;
  svg = to_svg(c);
  CHECK(count(svg, "<polyline") == 1);
  CHECK(svg.find("1 point is not drawn") != std::string::npos);
  CHECK(svg.find("one&gt;") == std::string::npos);  // a single series needs no legend
  c.series.push_back({"two", {1, 2}, {3, 3}, {2, 2}, {4, 4}});
  svg = to_svg(c);
  CHECK(svg.find("run &amp; &lt;one&gt;") != std::string::npos);
  CHECK(count(svg, "<polygon") == 1);
  CHECK(well_formed(to_svg(Chart{})));
  c.series = {{"", {1}, {kNan}, {}, {}}, {"", {5}, {5}, {}, {}}};
  CHECK(well_formed(to_svg(c)));
}

TEST_CASE("many series: the legend says how many it leaves out", "[drawing]") {
  Chart c;
  for (int i = 0; i < 40; ++i)
    c.series.push_back({"s" + std::to_string(i), {0, 1}, {0.0, i + 1.0}, {}, {}});
  CHECK(to_svg(c).find("and 24 more") != std::string::npos);
}

TEST_CASE("a coordinate is short and never invalid", "[drawing]") {
  CHECK(coordinate(-0.001) == "0");
  CHECK(coordinate(12.5) == "12.5");
  CHECK(coordinate(kNan) == "0");
}

}  // namespace
}  // namespace test_drawing
