#include <algorithm>
#include <cmath>
#include <ostream>

#include "autograd/gradcheck/gradcheck.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

std::string scientific(double x, int digits) {
  return number_text(x, digits, std::chars_format::scientific);
}
// With a blank in place of a plus sign.
std::string aligned(double x) { return (std::signbit(x) ? "" : " ") + number_text(x, 12); }

std::string count(Index n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string place(const Shape& index) {
  std::string text = "[";
  for (int a = 0; a < index.rank(); ++a) text += (a ? ", " : "") + std::to_string(index[a]);
  return text + "]";
}

// "element [0, 1] of output 0", or the random combination of them all.
std::string of_what(const GradcheckEntry& e) {
  if (e.projected) return "the outputs along a random u";
  return "output " + std::to_string(e.output) + " " + place(e.output_index);
}

// Few derivatives fit many mistakes.
std::string looks(const Mistake& m) {
  if (m.name.empty()) return "";
  return (m.evidence < 4 ? "\n      may be " : "\n      looks like ") + m.name + " (" +
         count(m.evidence, "derivative says", "derivatives say") + " so)";
}

std::string line_of(const GradcheckEntry& e, const GradcheckOptions& o) {
  std::string text = "\n  input " + std::to_string(e.input) + " " + e.name + " " +
                     to_string(e.shape) + " " + std::string(name_of(e.dtype)) + ": ";
  if (e.failed) {
    text += std::to_string(e.failed) + " of " + std::to_string(e.checked) + " wrong";
  } else {
    text += e.undecidable ? std::to_string(e.checked - e.undecidable) + " of " +
                                std::to_string(e.checked) + " right"
                          : count(e.checked, "derivative right", "derivatives right");
  }
  if (e.undecidable)
    text += ", " + std::to_string(e.undecidable) + " undecidable (" + e.why_undecidable + ")";
  if (e.coarse)
    text += ", " + std::to_string(e.coarse) + " to rtol 1e-05 alone (" + e.why_coarse + ")";
  if (e.excess < 0) return text;
  bool whole = o.mode == GradcheckOptions::Mode::Projection && !e.failed;
  if (!e.failed)
    return text + ", largest error " + scientific(e.absolute, 1) +
           (whole ? "" : " at " + place(e.index));
  return text + "\n    worst at " + e.name + place(e.index) + ", derivative of " + of_what(e) +
         "\n      analytic  " + aligned(e.analytic) + "\n      numeric   " + aligned(e.numeric) +
         "\n      error      " + scientific(e.absolute, 3) + " absolute, " +
         scientific(e.relative, 3) + " relative, " + number_text(e.excess, 3) +
         " times what is allowed" + looks(e.mistake);
}

bool undecided_by(const GradcheckEntry& e) { return e.undecidable > e.kinks && e.telling == 0; }

std::string why_undecided(const std::vector<GradcheckEntry>& inputs) {
  const auto by = std::find_if(inputs.begin(), inputs.end(), undecided_by);
  return (by == inputs.end() ? "" : "by " + by->name + " ") +
         "no derivative other than 0 was found right, and a missing gradient would look the same. "
         "Move the point, or scale "
         "the inputs or the outputs";
}

}  // namespace

bool GradcheckReport::undecided() const {
  return problem.empty() && failed() == 0 && checked() > 0 &&
         (total(&GradcheckEntry::telling) == 0 ||
          std::any_of(inputs.begin(), inputs.end(), undecided_by));
}

Index GradcheckReport::total(Index GradcheckEntry::*of) const {
  Index n = 0;
  for (const GradcheckEntry& e : inputs) n += e.*of;
  return n;
}

const GradcheckEntry* GradcheckReport::worst() const {
  const GradcheckEntry* found = nullptr;
  for (const GradcheckEntry& e : inputs)
    if (e.excess >= 0 && (!found || e.excess > found->excess)) found = &e;
  return found;
}

std::string GradcheckReport::to_string() const {
  std::string text = "gradcheck of " + function + ": ";
  if (!problem.empty()) text += "FAILED: the function " + problem;
  if (problem.empty())
    text += failed() ? "FAILED: " + std::to_string(failed()) + " of " +
                           count(checked(), "derivative is", "derivatives are") + " wrong"
            : undecided()
                ? "UNDECIDED: " + why_undecided(inputs)
                : "passed, " + count(checked() - undecidable(), "derivative", "derivatives");
  if (undecidable()) text += ", " + std::to_string(undecidable()) + " undecidable";
  text += "\n  ";
  if (options.second_order) text += "gradient of the gradient, ";
  text += options.mode == GradcheckOptions::Mode::Full
              ? "full Jacobian"
              : count(options.directions, "random direction", "random directions");
  text += std::string(in_float64 ? ", differences in float64" : ", differences in float32") +
          (options.precise ? " of eighth order" : "") + ", atol " + scientific(options.atol, 0) +
          ", rtol " + scientific(options.rtol, 0) + ", seed " + std::to_string(options.seed);
  for (const GradcheckEntry& e : inputs) text += line_of(e, options);
  for (const GradcheckReport& op : ops_at_fault) {
    text += "\n  the op at fault: " + op.function + (op.problem.empty() ? "" : " " + op.problem);
    for (const GradcheckEntry& e : op.inputs)
      if (e.failed && ops_right > 0) text += line_of(e, op.options);
  }
  const std::string ops = count(ops_right, "op", "ops");
  if (!ops_at_fault.empty() && ops_right > 0)
    text += "\n  the other " + ops + " agree with differences of their own forward";
  if (ops_at_fault.empty() && ops_right > 0)
    text += "\n  each of the " + ops +
            " recorded agrees with differences of its own forward: look for detach(), NoGrad, or a "
            "value that goes around the tape";
  return text;
}

std::ostream& operator<<(std::ostream& out, const GradcheckReport& report) {
  return out << report.to_string();
}

}  // namespace glim
