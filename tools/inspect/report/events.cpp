#include "tools/inspect/report/events.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace glim {
namespace {

constexpr std::size_t kWindow = 20, kLeast = 5;  // values that a running median is of
constexpr std::size_t kPause = 3;                // records that do not end an event
constexpr double kSpike = 5, kLossSpike = 1.3, kLossNats = 0.1;
constexpr double kNoise = 1e-4;  // a smaller gradient norm spikes and grows by chance
constexpr double kExplosion = 100, kVanishing = 1e-3, kFading = 1e-3;
constexpr double kSmallUpdate = 1e-5, kLargeUpdate = 0.1, kRateShare = 0.1;
constexpr double kSaturatedRun = 0.9, kUniform = 0.02, kCollapse = 0.95, kGrowth = 10;
constexpr double kEdge = 0.9;
constexpr std::size_t kNamed = 3;  // places that a sentence names

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// The median of the finite values in [begin, end); NaN for fewer than `least`.
double median_of(const std::vector<double>& values, std::size_t begin, std::size_t end,
                 std::size_t least) {
  std::vector<double> finite;
  for (std::size_t i = begin; i < std::min(end, values.size()); ++i)
    if (std::isfinite(values[i])) finite.push_back(values[i]);
  return finite.size() < least ? std::nan("") : median(std::move(finite));
}

double median_before(const std::vector<double>& values, std::size_t end) {
  return median_of(values, end > kWindow ? end - kWindow : 0, end, kLeast);
}

using Values = std::vector<double>;

// The values that a record is compared with beside its own row.
struct RunContext {
  std::vector<double> rate,
      middle;       // by record; middle: the median gradient norm of the modules that have one
  double peak = 0;  // the largest rate
};

struct RunRule;
using Finder = void (*)(const TrainingRun&, const RunRule&, std::vector<RunEvent>&);
void find_records(const TrainingRun& run, const RunRule& rule, std::vector<RunEvent>& events);

// A rule judges the rows of one quantity, record by record, unless it finds its events itself.
struct RunRule {
  const char *name, *says, *quantity = nullptr;
  bool largest = false;                            // whether large values are the extreme ones
  const char *what = nullptr, *measure = nullptr;  // "{places}: what, measure value"
  bool (*holds)(const Values& row, std::size_t record, const RunContext&) = nullptr;
  std::size_t pause = kPause;  // records that do not end an event, nor part two
  Finder find = find_records;
};

RunContext context_of(const Recording& r) {
  RunContext c{r.rate, {}, 0};
  for (double rate : r.rate) c.peak = std::max(c.peak, std::isfinite(rate) ? rate : 0);
  if (const Track* t = r.track("gradient_norm"))
    for (const Values& record : t->values) {
      Values some;
      std::copy_if(record.begin(), record.end(), std::back_inserter(some),
                   [](double v) { return v > 0; });
      c.middle.push_back(median_of(some, 0, some.size(), kLeast));
    }
  return c;
}

std::string places(const std::vector<std::string>& where) {
  std::string text;
  for (std::size_t i = 0; i < std::min(where.size(), kNamed); ++i)
    text += (i ? ", " : "") + where[i];
  if (where.size() > kNamed) text += fmt::format(" and {} more", where.size() - kNamed);
  return text;
}

std::vector<double> row_of(const Track& t, std::size_t row) {
  std::vector<double> values;
  for (const auto& record : t.values) values.push_back(record[row]);
  return values;
}

// Where the rule holds in one row: indices of records.
struct Interval {
  std::size_t row, first, last;
  double extreme;
};
std::vector<Interval> intervals(const Track& t, const RunRule& w, const RunContext& context) {
  std::vector<Interval> found;
  for (std::size_t row = 0; row < t.rows.size(); ++row) {
    std::vector<double> values = row_of(t, row);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!w.holds(values, i, context)) continue;
      bool goes_on =
          !found.empty() && found.back().row == row && i - found.back().last <= w.pause + 1;
      if (!goes_on) found.push_back({row, i, i, values[i]});
      Interval& now = found.back();
      now.last = i;
      now.extreme = w.largest ? std::max(now.extreme, values[i]) : std::min(now.extreme, values[i]);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Interval& a, const Interval& b) {
    return a.first != b.first ? a.first < b.first : a.last < b.last;
  });
  return found;
}

void find_records(const TrainingRun& run, const RunRule& w, std::vector<RunEvent>& events) {
  const Recording& r = run.recording;
  const Track* t = r.track(w.quantity);
  if (!t) return;
  std::vector<Interval> found = intervals(*t, w, context_of(r));
  for (std::size_t i = 0, end; i < found.size(); i = end) {
    auto together = [&](const Interval& other) {
      return w.pause > 0 ? other.first <= found[i].first + w.pause
                         : other.first == found[i].first && other.last == found[i].last;
    };
    for (end = i; end < found.size() && together(found[end]);) ++end;
    auto begin_at = found.begin() + static_cast<std::ptrdiff_t>(i);
    auto end_at = found.begin() + static_cast<std::ptrdiff_t>(end);
    std::size_t last = 0;
    for (auto span = begin_at; span != end_at; ++span) last = std::max(last, span->last);
    RunEvent e{w.name, w.quantity, r.step[found[i].first], r.step[last], {}, 0, {}};
    std::stable_sort(begin_at, end_at, [&](const Interval& a, const Interval& b) {
      return w.largest ? a.extreme > b.extreme : a.extreme < b.extreme;
    });
    for (auto span = begin_at; span != end_at; ++span) {
      const std::string& name = t->rows[span->row];
      if (std::find(e.where.begin(), e.where.end(), name) == e.where.end()) e.where.push_back(name);
    }
    e.value = begin_at->extreme;
    std::string when = e.step == e.last ? fmt::format("step {}", e.step)
                                        : fmt::format("steps {} to {}", e.step, e.last);
    e.text =
        fmt::format("{}, {}: {} ({} {:.3g})", when, places(e.where), w.what, w.measure, e.value);
    events.push_back(std::move(e));
  }
}

void find_silent(const TrainingRun& run, const RunRule& rule, std::vector<RunEvent>& events) {
  const Recording& r = run.recording;
  const Track* t = r.track("gradient_norm");
  if (!t) return;
  RunEvent e{rule.name, t->quantity, r.step.front(), r.step.back(), {}, 0, {}};
  for (std::size_t row = 0; row < t->rows.size(); ++row) {
    std::vector<double> values = row_of(*t, row);
    if (std::all_of(values.begin(), values.end(), [](double v) { return !(v > 0); }))
      e.where.push_back(t->rows[row]);
  }
  if (e.where.empty()) return;
  e.text = places(e.where) + ": no gradient arrives in any record";
  events.push_back(e);
}

// An event of the losses, not of a module.
RunEvent loss_event(const RunRule& rule, Index step, Index last, double value, std::string text) {
  return {rule.name, "nll", step, last, {}, value, std::move(text)};
}

void find_not_finite(const TrainingRun& run, const RunRule& rule, std::vector<RunEvent>& events) {
  auto look = [&](const Losses& losses, const char* which) {
    for (std::size_t i = 0; i < losses.step.size(); ++i)
      if (!std::isfinite(losses.nll[i])) {
        const Index step = losses.step[i];
        events.push_back(
            loss_event(rule, step, step, std::nan(""),
                       fmt::format("step {}: the {} loss is not finite", step, which)));
        return;  // the first says it
      }
  };
  look(run.train, "training");
  look(run.valid, "validation");
  const Recording& r = run.recording;
  if (r.stopped_at == 0) return;
  events.push_back(
      loss_event(rule, r.stopped_at, r.stopped_at, std::nan(""),
                 fmt::format("step {}: the run stopped: {}", r.stopped_at, r.stopped)));
}

void find_loss_spikes(const TrainingRun& run, const RunRule& rule, std::vector<RunEvent>& events) {
  const Losses& train = run.train;
  auto holds = [&](std::size_t i) {
    double m = median_before(train.nll, i);
    return train.nll[i] > kLossSpike * m && train.nll[i] > m + kLossNats;
  };
  for (std::size_t i = 0; i < train.nll.size(); ++i) {
    if (!holds(i)) continue;
    std::size_t first = i, most = i;
    for (; i < train.nll.size() && holds(i); ++i)
      if (train.nll[i] > train.nll[most]) most = i;
    events.push_back(loss_event(
        rule, train.step[first], train.step[i - 1], train.nll[most],
        fmt::format("step {}: the training loss rises to {:.3g} nats at step {}, {:.3g} times the "
                    "median before it (threshold {})",
                    train.step[first], train.nll[most], train.step[most],
                    train.nll[most] / median_before(train.nll, most), kLossSpike)));
  }
}

// A loss has risen that is `factor` times its least value and `nats` above it, of medians of `window` values, and for
// `least` values until the end.
void find_above(const std::vector<Index>& steps, const std::vector<double>& values,
                const char* quantity, const char* which, double factor, double nats,
                std::size_t window, std::size_t least, const RunRule& rule,
                std::vector<RunEvent>& events) {
  const std::size_t count = values.size();
  double best = HUGE_VAL, now = HUGE_VAL;
  std::size_t best_at = 0, since = count;
  for (std::size_t i = window - 1; i < count; ++i) {
    now = median_of(values, i + 1 - window, i + 1, window);
    if (now < best) {
      best = now;
      best_at = i;
    }
    if (!(now > factor * best && now > best + nats))
      since = count;
    else if (since == count)
      since = i;
  }
  if (count - since < least) return;
  events.push_back(loss_event(
      rule, steps[since], steps.back(), now,
      fmt::format("steps {} to {}: the {} no longer falls and stays above its best, {:.3g} "
                  "nats at step {} (in the end {:.3g}, threshold {} times)",
                  steps[since], steps.back(), which, best, steps[best_at], now, factor)));
  events.back().quantity = quantity;
}

void find_above_best(const TrainingRun& run, const RunRule& rule, std::vector<RunEvent>& events) {
  find_above(run.train.step, run.train.nll, "nll", "training NLL", 1.1, 0.05, kLeast, kLeast, rule,
             events);
  find_above(run.valid.step, run.valid.kl, "kl", "validation KL, which the best model has least,",
             1.02, 0.02, 1, 3, rule, events);
}

// An update's steps come near to overshooting, for the first time.
void find_edge(const TrainingRun& run, const RunRule& rule, std::vector<RunEvent>& events) {
  const Recording& r = run.recording;
  for (std::size_t i = 0; i < r.step_curvature.size(); ++i) {
    const double value = r.step_curvature[i];
    if (!(value >= kEdge * r.threshold)) continue;
    events.push_back({rule.name,
                      "curvature",
                      r.step[i],
                      r.step[i],
                      {},
                      value,
                      fmt::format("step {}: rate · curvature comes within a tenth of the threshold "
                                  "above which steps overshoot ({:.3g} of {:.3g})",
                                  r.step[i], value, r.threshold)});
    return;
  }
}

using Record = std::size_t;

const RunRule kRules[] = {
    {"gradient-spike",
     "a module's gradient norm above 5 times the median of the 20 records before, and above 1e-4",
     "gradient_norm", true, "the gradient spikes above 5 times its running median", "norm",
     [](const Values& v, Record i, const RunContext&) {
       return v[i] > kNoise && v[i] > kSpike * median_before(v, i);
     },
     0},
    {"exploding",
     "a module's gradient norm above 100 times the median of its first 5 records, and above 1e-4",
     "gradient_norm", true, "the gradient grows above 100 times that of the first 5 records",
     "norm",
     [](const Values& v, Record i, const RunContext&) {
       return i >= kLeast && v[i] > kNoise && v[i] > kExplosion * median_of(v, 0, kLeast, kLeast);
     }},
    {"vanishing",
     "a module's gradient norm below 0.001 times the median of all modules in the same record",
     "gradient_norm", false, "the gradient vanishes, below 0.001 times the median of modules",
     "norm",
     [](const Values& v, Record i, const RunContext& c) {
       return v[i] > 0 && v[i] < kVanishing * c.middle[i];
     }},
    {"fading", "a module's gradient norm below 0.001 times the median of its own first 5 records",
     "gradient_norm", false, "the gradient fades, below 0.001 times its own first values", "norm",
     [](const Values& v, Record i, const RunContext&) {
       return i >= kLeast && v[i] < kFading * median_of(v, 0, kLeast, kLeast);
     }},
    {"small-update",
     "update / weight ratio below 1e-5 while the learning rate is a tenth of its largest or more",
     "update_ratio", false, "updates below 1e-5 of the weights", "least",
     [](const Values& v, Record i, const RunContext& c) {
       return v[i] < kSmallUpdate && c.rate[i] >= kRateShare * c.peak;
     }},
    {"large-update", "update / weight ratio above 0.1 after the first record", "update_ratio", true,
     "updates above 0.1 of the weights", "most",
     [](const Values& v, Record i, const RunContext&) { return i > 0 && v[i] > kLargeUpdate; }},
    {"saturated", "saturation of a head at or above 0.9", "saturation", true,
     "the softmax is saturated, at or above 0.9", "saturation",
     [](const Values& v, Record i, const RunContext&) { return v[i] >= kSaturatedRun; }},
    // In the last record alone: untrained heads are all like that.
    {"uniform", "saturation of a head at or below 0.02 in the last record, of more than 5",
     "saturation", false, "attends to everything alike in the end, at or below 0.02", "saturation",
     [](const Values& v, Record i, const RunContext&) {
       return i + 1 == v.size() && i >= kLeast && v[i] <= kUniform;
     }},
    {"collapse", "token similarity of a layer at or above 0.95", "similarity", true,
     "tokens nearly collapse to one, at or above 0.95", "mean cosine",
     [](const Values& v, Record i, const RunContext&) { return v[i] >= kCollapse; }},
    {"growth", "activation scale of a layer above 10 times that of the first record", "rms", true,
     "activations above 10 times those of the first record", "rms",
     [](const Values& v, Record i, const RunContext&) { return v[i] > kGrowth * v.front(); }},
    {.name = "no-gradient",
     .says = "a module's gradient norm 0 or undefined in every record",
     .find = find_silent},
    {.name = "loss-spike",
     .says = "training loss above 1.3 times the median of the 20 log lines before, and 0.1 nats "
             "above it",
     .find = find_loss_spikes},
    {.name = "above-best",
     .says = "training NLL, median of 5 log lines, above 1.1 times its best and 0.05 nats above "
             "it in the "
             "last 5 lines or more; validation KL above 1.02 times and 0.02 nats in the last 3 "
             "or more",
     .find = find_above_best},
    {.name = "edge",
     .says =
         "rate · largest eigenvalue of P⁻¹H first at or above 0.9 times the optimizer's threshold",
     .find = find_edge},
    {.name = "not-finite",
     .says = "a loss is not finite, or the run stopped because a loss or gradient was not",
     .find = find_not_finite},
};

}  // namespace

std::vector<std::pair<std::string, std::string>> event_rules() {
  std::vector<std::pair<std::string, std::string>> rules;
  for (const RunRule& rule : kRules) rules.emplace_back(rule.name, rule.says);
  return rules;
}

std::vector<RunEvent> find_events(const TrainingRun& run) {
  std::vector<RunEvent> events;
  for (const RunRule& rule : kRules) rule.find(run, rule, events);
  std::stable_sort(events.begin(), events.end(),
                   [](const RunEvent& a, const RunEvent& b) { return a.step < b.step; });
  return events;
}

}  // namespace glim
