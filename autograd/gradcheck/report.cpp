#include <algorithm>
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

std::string line_of(const GradcheckEntry& e, const GradcheckOptions& o) {
  std::string text = "\n  input " + std::to_string(e.input) + " " + e.name + " " +
                     to_string(e.shape) + " " + std::string(name_of(e.dtype)) + ": ";
  const Index n = e.failed ? e.failed : e.checked - e.undecidable - e.within_atol;
  if (e.failed || e.undecidable || e.within_atol)
    text +=
        std::to_string(n) + " of " + std::to_string(e.checked) + (e.failed ? " wrong" : " right");
  else
    text += count(n, "derivative right", "derivatives right");
  if (e.undecidable)
    text += ", " + std::to_string(e.undecidable) + " undecidable (" + e.why_undecidable + ")";
  if (e.within_atol) text += ", " + std::to_string(e.within_atol) + " within atol alone";
  if (e.low_precision)
    text += ", " + std::to_string(e.low_precision) + " to " +
            (o.precise ? "rtol 1e-05" : "two digits") + " alone (" + e.why_low_precision + ")";
  if (e.excess < 0) return text;
  const bool whole = o.mode == GradcheckOptions::Mode::Projection;
  if (!e.failed)
    return text + ", largest error " + scientific(e.absolute(), 1) +
           (whole ? "" : " at " + place(e.index));
  text += "\n    worst at " + e.name + place(e.index) + ", derivative of " +
          (e.projected ? "the outputs along a random u"
                       : "output " + std::to_string(e.output) + " " + place(e.output_index)) +
          "\n      analytic  " + aligned(e.analytic) + "\n      numeric   " + aligned(e.numeric) +
          "\n      error      " + scientific(e.absolute(), 3) + ", " + number_text(e.excess, 3) +
          " times what is allowed";
  if (e.mistake.name.empty()) return text;
  // Few derivatives fit many mistakes.
  return text + (e.mistake.evidence < 4 ? "\n      may be " : "\n      looks like ") +
         e.mistake.name + " (" + count(e.mistake.evidence, "derivative says", "derivatives say") +
         " so)";
}

bool undecided_by(const GradcheckEntry& e) {
  return e.left_open > 0 || (e.undecidable + e.within_atol > e.kinks && e.decisive == 0);
}

}  // namespace

bool GradcheckReport::undecided() const {
  return problem.empty() && failed() == 0 && checked() > 0 &&
         (total(&GradcheckEntry::decisive) == 0 ||
          std::any_of(inputs.begin(), inputs.end(), undecided_by));
}

Index GradcheckReport::total(Index GradcheckEntry::*count) const {
  Index n = 0;
  for (const GradcheckEntry& e : inputs) n += e.*count;
  return n;
}

const GradcheckEntry* GradcheckReport::worst() const {
  const GradcheckEntry* found = nullptr;
  for (const GradcheckEntry& e : inputs)
    if (e.excess >= 0 && (!found || e.excess > found->excess)) found = &e;
  return found;
}

std::string GradcheckReport::to_string() const {
  return "gradcheck of " + function + ": " +
         (passed()                           ? "passed, "
          : failed() > 0 || !problem.empty() ? "FAILED: "
                                             : "UNDECIDED: ") +
         finding() + details();
}

std::string GradcheckReport::finding() const {
  std::string text;
  if (!problem.empty()) {
    text += "the function " + problem;
  } else if (failed()) {
    text += std::to_string(failed()) + " of " +
            count(checked(), "derivative is", "derivatives are") + " wrong";
  } else if (undecided()) {
    const auto entry = std::find_if(inputs.begin(), inputs.end(), undecided_by);
    text += (entry == inputs.end() ? "" : "by " + entry->name + " ") +
            "no derivative other than 0 was found right, and a missing gradient would look the "
            "same. Move the point, or scale the inputs or the outputs";
  } else {
    text += count(checked() - undecidable() - within_atol(), "derivative", "derivatives");
  }
  if (undecidable()) text += ", " + std::to_string(undecidable()) + " undecidable";
  if (within_atol())
    text += ", " + std::to_string(within_atol()) + " within atol alone (0 would be, too)";
  return text;
}

std::string GradcheckReport::details() const {
  std::string text = options.second_order ? "\n  gradient of the gradient, " : "\n  ";
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
  if (ops_right == 0) return text;
  const std::string ops = count(ops_right, "op", "ops");
  return text + (ops_at_fault.empty()
                     ? "\n  each of the " + ops +
                           " recorded agrees with differences of its own forward: look for "
                           "detach(), NoGrad, or a value that goes around the tape"
                     : "\n  the other " + ops + " agree with differences of their own forward");
}

std::ostream& operator<<(std::ostream& out, const GradcheckReport& report) {
  return out << report.to_string();
}

}  // namespace glim
