#pragma once

#include "autograd/gradcheck/gradcheck.hpp"

namespace glim {

// CHECK(decided(gradcheck(...))) fails, and prints the report, if a derivative is wrong or undecidable.
inline GradcheckReport decided(GradcheckReport report) {
  if (report.problem.empty() && report.undecidable() > 0)
    report.problem = "has undecidable derivatives";
  return report;
}

}  // namespace glim
