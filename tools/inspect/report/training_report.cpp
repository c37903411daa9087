#include "tools/inspect/report/training_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/common/escape.hpp"
#include "tools/common/toml.hpp"
#include "tools/inspect/page/page.hpp"
#include "tools/inspect/report/events.hpp"
#include "tools/inspect/report/replay.hpp"
#include "tools/kinds/options.hpp"
#include "tools/render/color.hpp"

namespace glim {

extern const std::string_view kChartsScript, kReportScript, kReportStyle;

namespace {

nlohmann::ordered_json to_json(const NamedOptions& options) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (const auto& [name, value] : options) j[name] = value;
  return j;
}

nlohmann::ordered_json to_json(const TrainingRun& run) {
  const Recording& r = run.recording;
  nlohmann::ordered_json j = {
      {"name", run.name},
      {"folder", run.folder},
      {"notes", run.notes},
      {"kind", r.kind},
      {"every", r.every},
      {"options", to_json(run.options)},
      {"train",
       {{"step", run.train.step},
        {"nll", run.train.nll},
        {"rate", run.train.rate},
        {"gradient_norm", run.train.gradient_norm}}},
      {"valid", {{"step", run.valid.step}, {"nll", run.valid.nll}, {"kl", run.valid.kl}}},
      {"steps", r.step},
      {"rate", r.rate},
      {"loss", r.loss}};
  if (std::ranges::any_of(r.curvature, [](double x) { return std::isfinite(x); }))
    j["curvature"] = {
        {"largest", r.curvature}, {"step", r.step_curvature}, {"threshold", r.threshold}};
  nlohmann::ordered_json& tracks = j["tracks"] = nlohmann::ordered_json::array();
  for (const Track& t : r.tracks)
    if (r.track(t.quantity))
      tracks.push_back({{"quantity", t.quantity}, {"rows", t.rows}, {"values", t.values}});
  nlohmann::ordered_json& events = j["events"] = nlohmann::ordered_json::array();
  for (const RunEvent& e : find_events(run))
    events.push_back({{"rule", e.rule},
                      {"quantity", e.quantity},
                      {"step", e.step},
                      {"last", e.last},
                      {"where", e.where},
                      {"value", e.value},
                      {"text", e.text},
                      {"command", r.step.empty() ? "" : replay_command(run.folder, e.step)}});
  return j;
}

}  // namespace

std::string report_json(const std::vector<TrainingRun>& runs) {
  auto data = nlohmann::ordered_json::object();
  nlohmann::ordered_json& rules = data["rules"] = nlohmann::ordered_json::array();
  for (const auto& [name, says] : event_rules()) rules.push_back({{"name", name}, {"says", says}});
  data["defaults"] = to_json(read_toml(TrainOptions().to_toml(), "the defaults"));
  nlohmann::ordered_json& list = data["runs"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    list.push_back(to_json(runs[i]));
    list.back()["color"] = line_color(i);
  }
  return in_json(data);
}

std::string report_page(const std::vector<TrainingRun>& runs, std::uint64_t most_bytes) {
  PageParts parts;
  parts.title = runs.size() == 1 ? "Training run " + runs[0].name
                                 : std::to_string(runs.size()) + " training runs";
  parts.data = report_json(runs);
  parts.styles = {kReportStyle};
  parts.scripts = {kChartsScript, kReportScript};
  parts.body = "<h1>" + in_xml(parts.title) + "</h1>\n";
  parts.most_bytes = most_bytes;
  parts.advice = "a larger --max-mb, fewer runs, or glim train with a larger --record-every";
  return html_page(parts);
}

}  // namespace glim
