#include "tools/study/study.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor/clock.hpp"
#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tensor/system/process.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/output.hpp"
#include "tools/common/shared_work.hpp"
#include "tools/study/statistics.hpp"

namespace glim {

// From one process to another.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Curve, plot, name, x, y, line, marks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measurement, values, curves)

namespace {

std::vector<Curve> join(const std::vector<Measurement>& measurements, const Study& study) {
  std::vector<Curve> all = measurements.front().curves;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Curve& s = all[i];
    if (std::ranges::any_of(study.plots,
                            [&](const Plot& p) { return p.id == s.plot && p.scatter; })) {
      s.low = s.high = s.y;
      continue;
    }
    for (const Measurement& m : measurements)
      if (m.curves.size() != all.size() || m.curves[i].name != s.name || m.curves[i].x != s.x)
        throw StateError("study", study.name + ": the curves of two seeds differ in name or x");
    s.y.clear();
    for (std::size_t k = 0; k < s.x.size(); ++k) {
      std::vector<double> y;
      for (const Measurement& m : measurements) y.push_back(m.curves[i].y[k]);
      s.y.push_back(mean_of(y));
      const auto [low, high] = std::minmax_element(y.begin(), y.end());
      s.low.push_back(*low);
      s.high.push_back(*high);
    }
  }
  return all;
}

}  // namespace

void Measurement::curve(const std::string& plot, const std::string& name, double x, double y,
                        CurveStyle style) {
  for (Curve& c : curves)
    if (c.plot == plot && c.name == name) {
      c.x.push_back(x);
      c.y.push_back(y);
      return;
    }
  curves.push_back(
      {{name, {x}, {y}, {}, {}, style != CurveStyle::Points, style != CurveStyle::Reference},
       plot});
}

Series Measurement::points(const std::string& plot, const std::string& name, double low,
                           double high) const {
  Series found{name, {}, {}, {}, {}};
  for (const Curve& c : curves)
    for (std::size_t i = 0; c.plot == plot && c.name == name && i < c.x.size(); ++i) {
      if (c.x[i] < low || c.x[i] > high) continue;
      found.x.push_back(c.x[i]);
      found.y.push_back(c.y[i]);
    }
  return found;
}

double Measurement::exponent(const std::string& plot, const std::string& name, double low) const {
  Series c = points(plot, name, low);
  return fit_power_law(c.x, c.y).slope;
}

const Study& study_of(const std::string& name) {
  std::vector<std::string> known;
  for (const Study& s : studies()) {
    if (s.name == name) return s;
    known.push_back(s.name);
  }
  throw ValueError("study", "there is no study '" + name + "'" + nearest_names(name, known));
}

std::vector<double> StudyResult::values(const Criterion& c) const {
  std::vector<double> v;
  for (const Measurement& m : measurements) v.push_back(m.values.at(c.key));
  return v;
}

Verdict StudyResult::verdict(std::size_t seed) const {
  Verdict verdict = Verdict::Holds;
  for (const Criterion& c : study->criteria) {
    if (!c.decides || c.holds(measurements[seed].values.at(c.key))) continue;
    if (c.control) return Verdict::Undecided;
    verdict = Verdict::Fails;
  }
  return verdict;
}

Verdict StudyResult::verdict() const {
  Verdict last = Verdict::Holds;
  for (std::size_t i = 0; i < measurements.size(); ++i) last = std::max(last, verdict(i));
  return last;
}

void show_step(Index step, Index steps) {
  constexpr double kApart = 3;  // seconds
  static double began = 0, shown = 0;
  const double now = seconds_now();
  if (step <= 1) began = shown = now;
  if (now - shown < kApart || quiet() || !is_terminal(2)) return;
  shown = now;
  std::fputs(fmt::format("  step {} of {}, {:.0f} s\n", step, steps, now - began).c_str(), stderr);
}

StudyResult run_study(const Study& study, const StudyOptions& options, const Processes& processes) {
  if (options.seeds < 1) throw ValueError("study", "at least one seed is needed");
  if (std::ranges::none_of(study.criteria,
                           [](const Criterion& c) { return c.decides && !c.control; }))
    throw ValueError("study",
                     study.name + ": no criterion decides: each is only shown, or a control");
  double start = seconds_now(), processor = processor_seconds();
  StudyResult result;
  result.study = &study;
  result.small = options.small;
  for (int i = 0; i < options.seeds; ++i)
    result.seeds.push_back(options.first_seed + static_cast<std::uint64_t>(i));
  const auto measured = shared_work(processes, options.seeds, [&](Index i) {
    const std::uint64_t s = result.seeds[static_cast<std::size_t>(i)];
    if (options.starting) options.starting(s);
    seed(s);
    Measurement m = options.text.empty() ? study.measure(s, options.small)
                                         : study.measure_text(s, options.small, options.text);
    for (const Criterion& c : study.criteria)
      if (!m.values.count(c.key))
        throw StateError("study", study.name + " did not measure " + c.key);
    return nlohmann::json(m);
  });
  result.measurements = {measured.begin(), measured.end()};
  result.series = join(result.measurements, study);
  for (double s : processes.gather(std::vector<double>{processor_seconds() - processor}))
    result.processor_seconds += s;
  result.seconds = seconds_now() - start;
  return result;
}

}  // namespace glim
