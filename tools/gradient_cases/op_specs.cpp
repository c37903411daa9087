#include "tools/gradient_cases/op_specs.hpp"

#include <exception>

#include "tools/gradient_cases/spec.hpp"

namespace glim {

std::vector<specs::Family> specs::families() {
  return {arithmetic(),        functions(), shape(),    reduce(),         cumulative(),
          softmax_family(),    products(),  index(),    dropout_family(), checkpoint_family(),
          transformer_parts(), windows(),   recurrent()};
}

std::string_view name_of(CaseStatus status) {
  return status == CaseStatus::Pass ? "pass" : status == CaseStatus::Fail ? "FAIL" : "UNDECIDED";
}

std::vector<Case> op_cases(DType dtype) {
  std::vector<Case> cases;
  for (const specs::Family& family : specs::families()) append_cases(family, dtype, cases);
  return cases;
}

CaseResult run(const Case& c) {
  CaseResult r;
  r.family = c.family;
  r.op = c.op;
  r.name = c.name;
  r.kinks = c.kinks;
  try {
    GradcheckReport report = c.check();
    r.detail = report.to_string();
    r.checked = report.checked();
    r.undecidable = report.undecidable();
    r.low_precision = report.low_precision();
    for (const GradcheckEntry& e : report.inputs) {
      for (std::size_t k = 0; k < e.by_decade.size(); ++k) r.by_decade[k] += e.by_decade[k];
      if (e.low_precision) r.why = e.why_low_precision;
    }
    if (const GradcheckEntry* worst = report.worst()) {
      r.worst = worst->absolute();
      r.excess = worst->excess;
    }
    if (report.passed()) r.status = CaseStatus::Pass;
    if (report.undecided()) r.status = CaseStatus::Undecided;
  } catch (const std::exception& e) {
    r.detail = e.what();
  }
  return r;
}

}  // namespace glim
