// glim report: training runs as one HTML page that opens from disk without a network.
//
// The page shows losses, rates and gradient norms of all runs in the same axes, the recordings as heat
// maps over the steps, any row of them as lines of all runs, the events (events.hpp), and the options.
// Its data are JSON (`Glim.data`), numbers as in the runs' files, null for what is not finite:
//
//   {"rules":[{"name","says"}],"defaults":{option: value},
//    "runs":[{"name","folder","notes":[…],"kind","every","options":{…},"color",
//             "train":{"step":[…],"nll":[…],"rate":[…],"gradient_norm":[…]},
//             "valid":{"step":[…],"nll":[…]},
//             "steps":[…],"rate":[…],"loss":[…],
//             "curvature":{"largest":[…],"step":[…],"threshold"},   with --record-curvature
//             "tracks":[{"quantity","rows":[…],"values":[[…of a record…],…]}],
//             "events":[{"rule","quantity","step","last","where":[…],"value","text"}]}]}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/inspect/report/training_run.hpp"

namespace glim {

std::string report_json(const std::vector<TrainingRun>& runs);
// ValueError when the page would be larger than most_bytes.
std::string report_page(const std::vector<TrainingRun>& runs, std::uint64_t most_bytes);

}  // namespace glim
