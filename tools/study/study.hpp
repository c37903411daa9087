// A study runs a published claim as an experiment: claim, source, setting, criteria, measurement.
//
// A criterion is a quantity, the interval in which it must be, and a reason, all written before anything is
// measured. measure() runs once for each seed and does not see the criteria. A claim holds for a seed when
// every deciding criterion holds (NaN never does). It holds when it holds for every seed. A claim that does
// not hold is a result too. A control is a criterion of the set-up: a seed whose control fails decides nothing.
//
//   Study          what is claimed, and how it would show
//   Measurement    the numbers of one seed
//   StudyResult    those of all seeds, with verdicts
//
// The claims and criteria are data (studies.toml); each study's measurement has a file of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tools/common/processes.hpp"
#include "tools/render/drawing.hpp"
#include "tools/render/pictures_asked.hpp"

namespace glim {

inline constexpr double kInf = std::numeric_limits<double>::infinity();  // no bound

struct Criterion {
  std::string key;       // in the JSON
  std::string quantity;  // in words
  double low = 0, high = 0;
  std::string reason;    // why this interval
  bool decides = true;   // false: only shown; the claim does not mention it
  bool control = false;  // it decides whether the others decide
  bool holds(double value) const { return low <= value && value <= high; }
};
// "≥ 0.5", "in [0.9, 1.1]", "= 0"
std::string interval_text(const Criterion& c);

struct Plot {
  std::string id, title, x_label, y_label;
  bool log_x = false, log_y = false;
  bool scatter = false;  // its x are measured: only the first seed's are shown
};

// A reference is a line that was not measured: a theorem's, a bound.
enum class CurveStyle { Line, Points, Reference };

// A curve of one seed; or of all: then y is their mean, with the least and the largest.
struct Curve : Series {
  std::string plot;
};

struct Measurement {
  std::map<std::string, double> values;  // by criterion's key
  std::vector<Curve> curves;             // the same ones, with the same x, for each seed

  // Adds a point to a curve.
  void curve(const std::string& plot, const std::string& name, double x, double y,
             CurveStyle style = CurveStyle::Line);
  // The curve, of x in [from, to].
  Series points(const std::string& plot, const std::string& name, double low = -kInf,
                double high = kInf) const;
  // "Grows as": b of y ≈ c x^b, over the points with x ≥ from.
  double exponent(const std::string& plot, const std::string& name, double low = -kInf) const;
};

struct Study {
  std::string name, claim, source;
  std::string setting, small_setting;  // every size
  std::vector<Criterion> criteria;
  std::string criteria_file = {};  // where they are from, if they take the place of the study's own
  std::vector<Plot> plots;
  // `small`: at the sizes of small_setting, a matter of seconds, which decide nothing.
  std::function<Measurement(std::uint64_t seed, bool small)> measure;
  // Of a study that learns a text, which the user may name.
  std::function<Measurement(std::uint64_t seed, bool small, const std::string& text)> measure_text =
      {};
};

// A criterion and a plot as studies.toml has them: the words behind KEY = and ID =. ValueError naming the key for words
// that are none.
Criterion criterion_of(const std::string& key, const std::vector<std::string>& words);
Plot plot_of(const std::string& id, const std::vector<std::string>& words);
// The criteria of a file, which has a line KEY = [...] for each. ValueError for a key that the study does not measure.
std::vector<Criterion> criteria_in(const std::string& file, const Study& study);

// The values that a measurement goes through: a few at small sizes, else all.
template <class T>
std::vector<T> sizes(bool small, std::vector<T> few, std::vector<T> all) {
  return small ? few : all;
}

const std::vector<Study>& studies();
// ValueError with the nearest names.
const Study& study_of(const std::string& name);

struct StudyOptions {
  std::uint64_t first_seed = 1;
  int seeds = 3;
  bool small = false;
  std::string text = {};  // the file that a study of a text learns, in place of the built-in one
  std::function<void(std::uint64_t seed)> starting = {};  // each seed, if given
};

enum class Verdict { Holds, Undecided, Fails };  // of all seeds: the last of theirs, in this order

struct StudyResult {
  const Study* study = nullptr;
  bool small = false;
  std::vector<std::uint64_t> seeds;
  std::vector<Measurement> measurements;  // one a seed
  std::vector<Curve> series;
  double seconds = 0, processor_seconds = 0;  // the latter: of all threads, other work apart

  std::vector<double> values(const Criterion& c) const;  // one a seed
  Verdict verdict(std::size_t seed) const;
  Verdict verdict() const;
};

// ValueError where no criterion decides. StateError when a measurement has no value for a criterion, or curves differ between seeds: then the study
// itself is wrong. Errors of the measurement pass through. Processes share the seeds.
StudyResult run_study(const Study& study, const StudyOptions& options,
                      const Processes& processes = {});

// For measurements that train: where a person watches, a line a few seconds apart, "  step 300 of 1000, 12 s".
void show_step(Index step, Index steps);

// Name, claim and source of each.
std::string to_text(const std::vector<Study>& studies);
// "the claim does not hold as stated (seed 1, 3)"
std::string verdict_text(const StudyResult& result);
// Claim, source, setting, one row per criterion, the curves as tables, the verdict.
std::string to_text(const StudyResult& result);
// Every number. Infinite bounds and values that are not finite are null. So is `holds` at small sizes, and undecided.
std::string to_json(const StudyResult& result);
// One picture per plot, "STUDY-PLOT": lines are means, bands go from the least to the largest. The result must outlive
// them.
std::vector<Picture> pictures(const StudyResult& result);

}  // namespace glim
