// One check: every derivative of a function, or random projections of them, by backward and by differences.
#pragma once

#include "autograd/gradcheck/analytic.hpp"
#include "autograd/gradcheck/gradcheck.hpp"

namespace glim::detail {

struct Checked {
  GradcheckReport report;
  Analytic analytic;
  std::vector<std::vector<double>> numeric;  // J by input, in Full mode
};
Checked check(const Subject& subject, const GradcheckOptions& options);

}  // namespace glim::detail
