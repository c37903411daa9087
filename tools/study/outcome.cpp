// The findings of a study, as text, as JSON and as pictures.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/tokenizers/utf8.hpp"
#include "tools/study/statistics.hpp"
#include "tools/study/study.hpp"

namespace glim {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Criterion, key, quantity, low, high, reason, decides, control)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plot, id, title, x_label, y_label)

namespace {

std::string number(double x) { return fmt::format("{:.4g}", x); }

std::string padded(const std::string& text, std::size_t columns, bool left) {
  if (left) return fit_columns(text, columns);
  std::size_t width = display_width(text);
  return std::string(columns > width ? columns - width : 0, ' ') + text;
}

// Rows of cells with the columns aligned, the first at the left.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i)
      line += (i ? "  " : "") + padded(row[i], widths[i], i == 0);
    text += line + "\n";
  }
  return text;
}

std::string criteria_table(const StudyResult& r) {
  std::vector<std::vector<std::string>> rows{{"measured"}};
  for (std::uint64_t s : r.seeds) rows[0].push_back(fmt::format("seed {}", s));
  if (r.seeds.size() > 1) rows[0].push_back("mean ± deviation");
  rows[0].insert(rows[0].end(), {"criterion", ""});
  int note = 0;
  for (const Criterion& c : r.study->criteria) {
    std::vector<double> v = r.values(c);
    std::vector<std::string> row{fmt::format("{}. {}", ++note, c.quantity)};
    for (double x : v) row.push_back(number(x));
    if (v.size() > 1) row.push_back(number(mean_of(v)) + " ± " + number(deviation_of(v)));
    auto held = std::count_if(v.begin(), v.end(), [&](double x) { return c.holds(x); });
    row.push_back(interval_text(c));
    row.push_back((c.control && !r.small ? "control: " : "") +
                  (!c.decides              ? "(beside)"
                   : r.small               ? ""
                   : held == std::ssize(v) ? "holds"
                   : held == 0             ? "does not hold"
                                           : fmt::format("holds for {} of {}", held, v.size())));
    rows.push_back(row);
  }
  return table(rows);
}

constexpr std::size_t kLongestTable = 16;  // longer curves are in the JSON alone

std::string plot_table(const StudyResult& r, const Plot& plot) {
  std::vector<const Curve*> curves;
  for (const Curve& s : r.series)
    if (s.plot == plot.id) curves.push_back(&s);
  if (curves.empty() || plot.scatter) return {};
  for (const Curve* s : curves)
    if (s->x != curves.front()->x || s->x.size() > kLongestTable) return {};
  std::vector<std::vector<std::string>> rows{{plot.x_label}};
  for (const Curve* s : curves) rows[0].push_back(s->name);
  for (std::size_t k = 0; k < curves.front()->x.size(); ++k) {
    rows.push_back({number(curves.front()->x[k])});
    for (const Curve* s : curves) rows.back().push_back(number(s->y[k]));
  }
  return fmt::format("\n  {}: {}{}\n", plot.title, plot.y_label,
                     r.seeds.size() > 1 ? ", mean of the seeds" : "") +
         table(rows);
}

Chart chart_of(const StudyResult& r, const Plot& plot) {
  std::string title =
      plot.title + (plot.scatter ? fmt::format(" (seed {})", r.seeds.front()) : std::string());
  Chart chart{title, plot.x_label, plot.y_label, plot.log_x, plot.log_y, {}};
  for (const Curve& s : r.series) {
    if (s.plot != plot.id) continue;
    chart.series.push_back(s);
    if (s.low == s.high) chart.series.back().low = chart.series.back().high = {};
  }
  return chart;
}

}  // namespace

std::vector<Picture> pictures(const StudyResult& r) {
  std::vector<Picture> list;
  for (const Plot& p : r.study->plots)
    list.push_back({r.study->name + "-" + p.id, [&] { return to_svg(chart_of(r, p)); }});
  return list;
}

std::string interval_text(const Criterion& c) {
  if (c.low == c.high) return "= " + number(c.low);
  if (std::isinf(c.low) && std::isinf(c.high)) return "–";
  if (std::isinf(c.high)) return "≥ " + number(c.low);
  if (std::isinf(c.low)) return "≤ " + number(c.high);
  return "in [" + number(c.low) + ", " + number(c.high) + "]";
}

std::string to_text(const std::vector<Study>& studies) {
  std::size_t longest = 0;
  for (const Study& s : studies) longest = std::max(longest, s.name.size());
  std::string text, blanks(longest + 2, ' ');
  for (const Study& s : studies)
    text += padded(s.name, longest + 2, true) + wrapped(s.claim, longest + 2) + "\n" + blanks +
            wrapped(s.source, longest + 2) + "\n";
  return text;
}

std::string verdict_text(const StudyResult& r) {
  const Verdict found = r.verdict();
  if (r.small) return "too small to judge";
  if (found == Verdict::Holds)
    return r.seeds.size() == 1 ? "the claim holds" : "the claim holds for each seed";
  std::string seeds;
  for (std::size_t i = 0; i < r.seeds.size(); ++i)
    if (r.verdict(i) == found) seeds += (seeds.empty() ? "" : ", ") + std::to_string(r.seeds[i]);
  return (found == Verdict::Fails ? "the claim does not hold as stated (seed "
                                  : "undecided, because a control fails (seed ") +
         seeds + ")";
}

std::string to_text(const StudyResult& r) {
  const Study& s = *r.study;
  std::string text = s.name + "\n";
  auto item = [&](const char* head, const std::string& body) {
    text += fmt::format("  {:<9} {}\n", head, wrapped(body, 12));
  };
  item("claim", s.claim);
  item("source", s.source);
  item("setting", (r.small ? "SMALL: " + s.small_setting : s.setting) +
                      (r.seeds.size() == 1
                           ? fmt::format("; seed {}", r.seeds[0])
                           : fmt::format("; seeds {} to {}", r.seeds.front(), r.seeds.back())));
  if (!s.criteria_file.empty())
    item("criteria", "of " + s.criteria_file + ", in place of the study's own");
  text += "\n" + criteria_table(r);
  for (const Plot& p : s.plots) text += plot_table(r, p);
  text += "\n";
  int note = 0;
  for (const Criterion& c : s.criteria)
    text += fmt::format("  {}. {}\n", ++note, wrapped(interval_text(c) + ": " + c.reason, 5));
  text += fmt::format("\n  verdict   {} ({:.1f} s, processor {:.1f} s)\n", verdict_text(r),
                      r.seconds, r.processor_seconds);
  return text;
}

std::string to_json(const StudyResult& r) {
  using Json = nlohmann::json;  // writes null for what is not finite
  const Study& s = *r.study;
  Json held = Json::array(), criteria = held, plots = held;
  auto json_of = [](Verdict v) {
    return v == Verdict::Undecided ? Json() : Json(v == Verdict::Holds);
  };
  for (std::size_t i = 0; i < r.seeds.size(); ++i) held.push_back(json_of(r.verdict(i)));
  for (const Criterion& c : s.criteria) {
    const std::vector<double> v = r.values(c);
    criteria.push_back(c);
    criteria.back().update({{"values", v}, {"mean", mean_of(v)}, {"deviation", deviation_of(v)}});
    for (double x : v) criteria.back()["holds"].push_back(c.holds(x));
  }
  for (const Plot& p : s.plots) {
    Json series = Json::array();
    for (std::size_t i = 0; i < r.series.size(); ++i) {
      const Curve& q = r.series[i];
      if (q.plot != p.id) continue;
      series.push_back({{"name", q.name},
                        {"x", q.x},
                        {"mean", q.y},
                        {"low", q.low},
                        {"high", q.high},
                        {"by_seed", Json::array()}});
      if (p.scatter) continue;
      for (const Measurement& m : r.measurements) series.back()["by_seed"].push_back(m.curves[i].y);
    }
    plots.push_back(p);
    plots.back()["series"] = series;
  }
  return Json{{"name", s.name},
              {"claim", s.claim},
              {"source", s.source},
              {"setting", r.small ? s.small_setting : s.setting},
              {"criteria_file", s.criteria_file},
              {"small", r.small},
              {"seeds", r.seeds},
              {"seconds", r.seconds},
              {"processor_seconds", r.processor_seconds},
              {"holds", r.small ? Json() : json_of(r.verdict())},
              {"holds_by_seed", held},
              {"criteria", criteria},
              {"plots", plots}}
             .dump(1) +
         "\n";
}

}  // namespace glim
