// Single pictures of training runs, for papers and slides, as SVG.
//
//   loss, rate, gradient    lines of all runs: NLL of training and validation, learning rate, gradient
//                           norm before clipping
//   curvature               rate · curvature beside its threshold, of runs with --record-curvature
//   RUN/QUANTITY            "big/entropy": a recorded quantity over steps and rows. Norms, ratios and
//                           scales are shown as log10. Of more than 200 records several share a cell,
//                           which shows the largest
#pragma once

#include "tools/inspect/report/training_run.hpp"
#include "tools/render/pictures_asked.hpp"

namespace glim {

// Every picture of these runs, which must outlive them. Drawing one throws a ValueError for a map of too many rows.
std::vector<Picture> pictures(const std::vector<TrainingRun>& runs);

}  // namespace glim
