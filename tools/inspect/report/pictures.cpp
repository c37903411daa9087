#include "tools/inspect/report/pictures.hpp"

#include <algorithm>
#include <cmath>

#include "tools/render/drawing.hpp"

namespace glim {
namespace {

constexpr std::size_t kMostColumns = 200;  // of a map
constexpr std::size_t kFewPoints = 40;     // of a line: each is marked

std::vector<double> as_numbers(const std::vector<Index>& steps) {
  return {steps.begin(), steps.end()};
}

std::string losses_svg(const std::vector<TrainingRun>& runs, const std::string& name) {
  Chart chart;
  chart.x_label = "step";
  auto add = [&](const std::string& label, const std::vector<Index>& x, std::vector<double> y,
                 bool marks) {
    if (x.empty()) return;
    Series s;
    s.name = label;
    s.x = as_numbers(x);
    s.y = std::move(y);
    s.marks = marks || x.size() <= kFewPoints;
    chart.series.push_back(std::move(s));
  };
  for (const TrainingRun& r : runs) {
    if (name == "loss") {
      chart.title = "loss";
      chart.y_label = "NLL, nats per target";
      add(r.name + " training", r.train.step, r.train.nll, false);
      add(r.name + " validation", r.valid.step, r.valid.nll, true);
    } else if (name == "rate") {
      chart.title = chart.y_label = "learning rate";
      add(r.name, r.train.step, r.train.rate, false);
    } else if (name == "curvature") {
      chart.title = "rate · largest eigenvalue of P⁻¹H";
      if (r.recording.step.empty() || !std::isfinite(r.recording.threshold)) continue;
      add(r.name, r.recording.step, r.recording.step_curvature, false);
      add(r.name + " threshold", {r.recording.step.front(), r.recording.step.back()},
          {r.recording.threshold, r.recording.threshold}, false);
    } else {
      chart.title = "gradient norm before clipping";
      chart.y_label = "‖g‖";
      chart.log_y = true;
      add(r.name, r.train.step, r.train.gradient_norm, false);
    }
  }
  return to_svg(chart);
}

std::string track_svg(const TrainingRun& run, const Track& t) {
  bool logarithmic = t.quantity == "gradient_norm" || t.quantity == "update_ratio" ||
                     t.quantity == "rms" || t.quantity == "score";
  std::size_t records = t.values.size(), together = (records + kMostColumns - 1) / kMostColumns;
  HeatMap map;
  map.title = run.name + ": " + (logarithmic ? "log10 of " : "") + t.quantity;
  if (together > 1) map.title += ", largest of every " + std::to_string(together) + " records";
  map.column_label = "step";
  map.rows = t.rows;
  for (std::size_t i = 0; i < records; i += together)
    map.columns.push_back(std::to_string(run.recording.step[i]));
  for (std::size_t row = 0; row < t.rows.size(); ++row)
    for (std::size_t i = 0; i < records; i += together) {
      double v = std::nan("");
      for (std::size_t j = i; j < std::min(i + together, records); ++j)
        v = std::fmax(v, t.values[j][row]);  // the other one for a NaN
      if (logarithmic) v = v > 0 ? std::log10(v) : std::nan("");
      map.values.push_back(v);
    }
  return to_svg(map);
}

}  // namespace

std::vector<Picture> pictures(const std::vector<TrainingRun>& runs) {
  std::vector<Picture> all;
  if (std::ranges::any_of(runs, [](const TrainingRun& r) { return !r.train.step.empty(); }))
    for (const char* line : {"loss", "rate", "gradient"})
      all.push_back({line, [&runs, line] { return losses_svg(runs, line); }});
  if (std::ranges::any_of(
          runs, [](const TrainingRun& r) { return std::isfinite(r.recording.threshold); }))
    all.push_back({"curvature", [&runs] { return losses_svg(runs, "curvature"); }});
  for (const TrainingRun& r : runs)
    for (const Track& t : r.recording.tracks)
      if (r.recording.track(t.quantity))
        all.push_back({r.name + "/" + t.quantity, [&] { return track_svg(r, t); }});
  return all;
}

}  // namespace glim
