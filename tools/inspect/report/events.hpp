// What a reader should notice in a run, found by rules whose thresholds stand here and in the page.
//
// An event begins at the step where its rule first holds and lasts while it does; a pause of up to 3
// records does not end it. Events of one rule that begin within 3 records of each other in several
// modules, layers or heads are one event that names them all, the most extreme first (spikes: at the
// same records).
//
//   not-finite       training or validation NLL is not finite, or the run stopped because a loss or
//                    gradient was not
//   loss-spike       training NLL above 1.3 times the median of the 20 log lines before it (5 at least
//                    are needed), and above it by 0.1 nats
//   above-best       training NLL, the median of 5 log lines, above 1.1 times its least value so far and
//                    above it by 0.05 nats, in the last 5 lines or more; validation NLL above 1.02 times its
//                    least and by 0.02 nats, in the last 3 validations or more
//   gradient-spike   ‖g‖ of a module above 5 times the median of the 20 records before it (5 at least)
//   exploding        ‖g‖ of a module above 100 times the median of its first 5 records
//   vanishing        ‖g‖ of a module below 1e-3 times the median of all modules in the same record
//   fading           ‖g‖ of a module below 1e-3 times the median of its own first 5 records
//   no-gradient      ‖g‖ of a module 0 or undefined in every record
//   small-update     ‖Δw‖/‖w‖ of a module below 1e-5 while the learning rate is at least a tenth of its
//                    largest
//   large-update     ‖Δw‖/‖w‖ above 0.1; not the first record, where weights may begin at 0
//   saturated        saturation of a head at or above 0.9: next to nothing flows to queries and keys
//   uniform          saturation of a head at or below 0.02 in the last record, of more than 5: it has
//                    learned to choose nothing (in the last alone: untrained heads are all like that)
//   collapse         token similarity of a layer at or above 0.95
//   growth           activation scale of a layer above 10 times that of the first record
#pragma once

#include <string>
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

struct EventRule {
  const char *name, *says;
};
const std::vector<EventRule>& event_rules();

}  // namespace glim
