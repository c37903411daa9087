// Runs for the tests of the report.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tools/inspect/report/training_run.hpp"

namespace glim::test {

// A run in which nothing happens: six modules, two layers, two heads; values wander by a tenth.
inline TrainingRun quiet_run(Index records = 60) {
  TrainingRun run;
  run.name = run.folder = "quiet";
  Recording& r = run.recording;
  r.kind = "transformer";
  r.every = 10;
  r.tracks = {{"gradient_norm", {"a", "b", "c", "d", "e", "f"}, {}},
              {"update_ratio", {"a", "b", "c", "d", "e", "f"}, {}},
              {"rms", {"layer 0", "layer 1"}, {}},
              {"similarity", {"layer 0", "layer 1"}, {}},
              {"entropy", {"x head 1", "x head 2"}, {}},
              {"saturation", {"x head 1", "x head 2"}, {}}};
  const double level[] = {0.5, 1e-3, 1, 0.4, 2, 0.3};
  for (Index i = 0; i < records; ++i) {
    r.step.push_back(10 * (i + 1));
    r.rate.push_back(1e-3);
    r.loss.push_back(3);
    for (std::size_t t = 0; t < r.tracks.size(); ++t) {
      std::vector<double> row;
      for (std::size_t m = 0; m < r.tracks[t].rows.size(); ++m)
        row.push_back(level[t] *
                      (1 + 0.1 * std::sin(static_cast<double>(7 * i) + static_cast<double>(m))));
      r.tracks[t].values.push_back(row);
    }
    run.train.step.push_back(10 * (i + 1));
    run.train.nll.push_back(1 + 4 * std::exp(-static_cast<double>(i) / 10));
    run.train.rate.push_back(1e-3);
    run.train.gradient_norm.push_back(1);
  }
  return run;
}

inline std::vector<std::vector<double>>& values(TrainingRun& run, const std::string& quantity) {
  for (Track& t : run.recording.tracks)
    if (t.quantity == quantity) return t.values;
  throw std::runtime_error(quantity);
}

}  // namespace glim::test
