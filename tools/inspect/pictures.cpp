#include "tools/inspect/pictures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>

#include "tools/common/number.hpp"
#include "tools/render/drawing.hpp"
#include "tools/render/svg.hpp"

namespace glim {
namespace {

struct MapKind {
  const char* name;
  const char* title;
  Tensor AttentionView::*tensor;
  bool diverging;
};
const std::array<MapKind, 4> kMaps{{{"A", "A", &AttentionView::a, false},
                                    {"dA", "∂L/∂A", &AttentionView::da, true},
                                    {"S", "S", &AttentionView::s, true},
                                    {"dS", "∂L/∂S", &AttentionView::ds, true}}};

std::string head_title(const AttentionView& v, std::size_t head) {
  return fmt::format("{}, layer {}, head {}", name_of(v.side), v.layer, head);
}

std::string attention_svg(const AttentionView& v, std::size_t head, const MapKind& kind,
                          const std::string& title, double zoom) {
  HeatMap map;
  map.zoom = zoom;
  map.title = title;
  map.row_label = "queries";
  map.column_label = "keys";
  map.rows = v.queries;
  map.columns = v.keys;
  map.diverging = kind.diverging;
  map.low = 0;
  map.high = kind.diverging ? 0 : 1;
  Tensor all = (v.*kind.tensor).to(DType::Float64);
  for (Index h = 0; h < all.size(0); ++h)
    for (Index t = 0; t < all.size(1); ++t)
      for (Index s = 0; s < all.size(2); ++s) {
        bool keep = v.keep.at<bool>({t, s});
        double x = keep ? all.at<double>({h, t, s}) : std::numeric_limits<double>::quiet_NaN();
        if (h == static_cast<Index>(head)) map.values.push_back(x);
        if (kind.diverging && std::isfinite(x)) map.high = std::max(map.high, std::abs(x));
      }
  if (kind.diverging) map.low = -map.high;
  return to_svg(map);
}

// Maps side by side below a title.
std::string beside(const std::string& title, const std::vector<std::string>& pictures) {
  constexpr double kHeading = 30;
  auto side = [](const std::string& svg, const std::string& name) {
    const std::string_view rest =
        std::string_view(svg).substr(svg.find(name + "=\"") + name.size() + 2);
    return *number_in<double>(rest.substr(0, rest.find('"')));
  };
  std::string maps;
  double width = 0, height = 0;
  for (const std::string& map : pictures) {
    maps += fmt::format("<svg x=\"{}\" y=\"{}\"", coordinate(width), coordinate(kHeading)) +
            map.substr(std::string("<svg").size());
    width += side(map, "width");
    height = std::max(height, side(map, "height"));
  }
  Svg svg(width, kHeading + height, title);
  svg.text(12, 24, title, 16, Anchor::Start, 0, "font-weight=\"bold\"");
  svg.raw(maps);
  return svg.finish();
}

std::string head_svg(const AttentionView& v, std::size_t head, double zoom) {
  std::vector<std::string> maps;
  for (const MapKind& kind : kMaps) maps.push_back(attention_svg(v, head, kind, kind.title, zoom));
  return beside(head_title(v, head), maps);
}

std::vector<std::string> numbered(Index n) {
  std::vector<std::string> names;
  for (Index i = 0; i < n; ++i) names.push_back(std::to_string(i));
  return names;
}

std::string tensor_svg(const std::string& title, const Tensor& x, const AxisNames& names) {
  HeatMap map;
  Index columns = x.rank() == 0 ? 1 : x.size(-1);
  map.title = title + " " + to_string(x.shape());
  map.columns = names.columns.empty() ? numbered(columns) : names.columns;
  map.rows = names.rows.empty() ? numbered(columns > 0 ? x.numel() / columns : 0) : names.rows;
  map.values = x.to(DType::Float64).to_vector<double>();
  for (double v : map.values) map.diverging = map.diverging || v < 0;
  return to_svg(map);
}

// A map of numbered rows and columns.
std::string matrix_svg(const std::string& title, const char* rows, const char* columns,
                       const Tensor& x) {
  HeatMap map;
  map.title = title;
  map.row_label = rows;
  map.column_label = columns;
  map.rows = numbered(x.size(0));
  map.columns = numbered(x.size(1));
  map.values = x.to_vector<double>();
  map.diverging = true;
  return to_svg(map);
}

std::string wavelengths_svg(const PositionsView& p) {
  Chart chart;
  chart.title = p.module + ": wavelength, " + p.kind;
  chart.x_label = "pair of columns";
  chart.y_label = "positions";
  chart.log_y = true;
  Series& s = chart.series.emplace_back();
  s.y = p.wavelengths;
  for (std::size_t i = 0; i < s.y.size(); ++i) s.x.push_back(static_cast<double>(i));
  return to_svg(chart);
}

void add_positions(const PositionsView& p, std::vector<Picture>& all) {
  all.push_back({p.module + "/table", [&p] {
                   return matrix_svg(p.module + ": PE(p, c), " + p.kind, "position p", "column c",
                                     p.table);
                 }});
  all.push_back({p.module + "/products", [&p] {
                   return matrix_svg(p.module + ": PE(p) · PE(q), " + p.kind, "position p",
                                     "position q", p.products);
                 }});
  if (!p.wavelengths.empty())
    all.push_back({p.module + "/wavelengths", [&p] { return wavelengths_svg(p); }});
}

std::string tokens_svg(const Inspection& inspection, double zoom) {
  HeatMap map;
  map.zoom = zoom;
  map.title = "integrated gradients, nats";
  map.diverging = true;
  map.rows = {"ln p"};
  map.columns = inspection.source;
  map.columns.insert(map.columns.end(), inspection.target_in.begin(), inspection.target_in.end());
  map.values = inspection.attribution.integrated_source;
  map.values.insert(map.values.end(), inspection.attribution.integrated_target.begin(),
                    inspection.attribution.integrated_target.end());
  return to_svg(map);
}

std::string rollout_svg(const Inspection& inspection, double zoom) {
  HeatMap map;
  map.zoom = zoom;
  map.title = "attention rollout";
  const TokenRollout& r = inspection.rollout;
  const bool encoder = inspection.target_in.empty(), decoder = inspection.source.empty();
  map.rows = encoder ? inspection.source : inspection.target_in;
  map.columns = decoder ? inspection.target_in : inspection.source;
  map.low = 0;
  map.values = (encoder ? r.encoder : decoder ? r.target : r.source).to_vector<double>();
  return to_svg(map);
}

}  // namespace

std::string without_heads_svg(const Inspection& inspection, double zoom) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::size_t most = 0;
  for (const AttentionView& v : inspection.attention) most = std::max(most, v.without.size());
  HeatMap map;
  map.zoom = zoom;
  map.column_label = "head";
  map.columns = numbered(static_cast<Index>(most));
  map.diverging = true;
  std::array<std::vector<double>, 3> values;
  for (const AttentionView& v : inspection.attention) {
    if (v.without.empty()) continue;
    map.rows.push_back(fmt::format("{} {}", name_of(v.side), v.layer));
    for (std::size_t h = 0; h < most; ++h) {
      const PatchEffect e = h < v.without.size() ? v.without[h] : PatchEffect{kNone, kNone, kNone};
      values[0].push_back(e.change);
      values[1].push_back(e.linear);
      values[2].push_back(e.linear + e.second);
    }
  }
  if (map.rows.empty()) return {};
  map.high = 0;
  for (const auto& list : values)
    for (double x : list)
      if (std::isfinite(x)) map.high = std::max(map.high, std::abs(x));
  map.low = -map.high;
  std::vector<std::string> maps;
  for (std::size_t i = 0; i < values.size(); ++i) {
    map.title = std::array{"measured", "first order", "second order"}[i];
    map.values = values[i];
    maps.push_back(to_svg(map));
  }
  return beside("loss without each head, less the loss", maps);
}

std::vector<Picture> pictures(const Inspection& inspection, double zoom) {
  std::vector<Picture> all;
  for (const AttentionView& v : inspection.attention)
    for (std::size_t h = 0; h < v.heads.size(); ++h) {
      const std::string head = fmt::format("{}/head{}", v.module, h);
      all.push_back({head, [&v, h, zoom] { return head_svg(v, h, zoom); }});
      for (const MapKind& kind : kMaps)
        all.push_back({head + "/" + kind.name, [&v, h, &kind, zoom] {
                         return attention_svg(
                             v, h, kind, fmt::format("{}: {}", kind.title, head_title(v, h)), zoom);
                       }});
    }
  if (std::ranges::any_of(inspection.attention,
                          [](const AttentionView& v) { return !v.without.empty(); }))
    all.push_back(
        {"without-heads", [&inspection, zoom] { return without_heads_svg(inspection, zoom); }});
  for (const PositionsView& p : inspection.positions) add_positions(p, all);
  if (inspection.attribution.steps > 0)
    all.push_back({"tokens", [&, zoom] { return tokens_svg(inspection, zoom); }});
  if (inspection.rollout.source.defined())
    all.push_back({"rollout", [&, zoom] { return rollout_svg(inspection, zoom); }});
  for (const PassNode& n : inspection.pass.nodes()) {
    auto add = [&](const std::string& name, const Tensor& x) {
      all.push_back({name, [&inspection, &n, &x, name] {
                       return tensor_svg(name, x, axis_names(inspection.attention, n));
                     }});
    };
    add(n.name, n.value);
    if (n.gradient.defined()) add(n.name + ".grad", n.gradient);
  }
  return all;
}

}  // namespace glim
