// Events of a run that a reader should notice, found by the rules of the table in events.cpp, which the page shows.
//
// An event begins at the step where its rule first holds and lasts while it does; a pause of up to 3
// records does not end it. Events of one rule that begin within 3 records of each other in several
// modules, layers or heads are one event that names them all, the most extreme first (spikes: at the
// same records).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/inspect/report/training_run.hpp"

namespace glim {

struct RunEvent {
  std::string rule, quantity;      // quantity: the track that shows it; "nll" for losses
  Index step = 0, last = 0;        // first and last step at which it holds
  std::vector<std::string> where;  // modules, layers or heads; none for losses
  double value = 0;                // the most extreme, of where[0]; NaN: not finite
  std::string text;                // a sentence with value and threshold
};
// In order of steps.
std::vector<RunEvent> find_events(const TrainingRun& run);

// The rules' names, and when they hold.
std::vector<std::pair<std::string, std::string>> event_rules();

}  // namespace glim
