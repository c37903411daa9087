// Single pictures of training runs, for papers and slides, as SVG.
//
//   loss, rate, gradient    lines of all runs: NLL of training and validation, learning rate, gradient
//                           norm before clipping
//   RUN/QUANTITY            "big/entropy": a recorded quantity over steps and rows. Norms, ratios and
//                           scales are shown as log10. Of more than 200 records several share a cell,
//                           which shows the largest
#pragma once

#include <string>
#include <vector>

#include "tools/inspect/report/training_run.hpp"

namespace glim {

std::vector<std::string> report_picture_names(const std::vector<TrainingRun>& runs);
// IndexError for an unknown name; ValueError for a map of too many rows.
std::string report_picture(const std::vector<TrainingRun>& runs, const std::string& name);

}  // namespace glim
