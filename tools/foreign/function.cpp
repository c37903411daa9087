#include "tools/foreign/function.hpp"

#include <algorithm>

#include "tools/foreign/checks.hpp"
#include "tools/foreign/differences.hpp"

namespace glim {

namespace {

constexpr const char* kChecks[] = {"differences", "form",  "linear",    "repeatable", "stateless",
                                   "inputs",      "batch", "broadcast", "elsewhere"};

FunctionCheck verdict_of(const GradcheckReport& d) {
  CheckVerdict v = d.passed() ? CheckVerdict::Passed : CheckVerdict::Failed;
  if (d.undecided() || (d.passed() && d.checked() == 0)) v = CheckVerdict::Undecided;
  return {"differences", v, d.finding()};
}

// The mistake to name first. A gradient of random state, say, is wrong in every other way too.
std::string likely_mistake(const FunctionReport& r, const std::string& of_gradient) {
  for (const char* name : {"repeatable", "stateless", "form", "linear", "differences", "inputs",
                           "batch", "broadcast", "elsewhere"}) {
    const FunctionCheck& c = r.check(name);
    if (c.verdict != CheckVerdict::Failed) continue;
    if (c.name != "differences" &&
        (c.name != "linear" || of_gradient.empty() || of_gradient.starts_with("dy ignored")))
      return c.detail;
    // The other examples of a batch look like a mask to the Jacobian.
    const bool examples = of_gradient.starts_with("a mask ignored") &&
                          r.check("batch").verdict == CheckVerdict::Failed;
    if (!of_gradient.empty() && !examples) return of_gradient;
  }
  for (const FunctionCheck& c : r.checks)
    if (c.doubt) return c.detail;
  return "";
}

// Is a gradient that is wrong in float32 right in float64? Then it is rounding that differs.
bool right_in_float64(foreign::Calls& calls, const GradcheckReport& in_float32) {
  if (!in_float32.in_float64) return false;
  std::vector<GradcheckInput> inputs = calls.selected_inputs();
  bool any = false;
  for (GradcheckInput& input : inputs)
    if (input.value.dtype() == DType::Float32) {
      input.value = input.value.to(DType::Float64);
      any = true;
    }
  GradcheckOptions options = in_float32.options;
  options.atol = options.rtol = 0;
  options.explain = GradcheckOptions::Explain::Nothing;
  try {
    return any && foreign::differences(calls.as_function(), inputs, options).passed();
  } catch (const std::exception&) {  // the backward takes float32 alone
    return false;
  }
}

}  // namespace

std::string_view name_of(CheckVerdict v) {
  constexpr std::string_view kNames[] = {"passed", "failed", "undecided", "not applicable"};
  return kNames[static_cast<int>(v)];
}

const FunctionCheck& FunctionReport::check(std::string_view name) const {
  return *std::find_if(checks.begin(), checks.end(),
                       [&](const FunctionCheck& c) { return c.name == name; });
}

FunctionReport check_function(const Callbacks& function, const std::vector<GradcheckInput>& inputs,
                              const GradcheckOptions& o) {
  using namespace foreign;
  Calls calls(function, inputs);
  if (std::find(calls.selection.begin(), calls.selection.end(), true) == calls.selection.end())
    throw ValueError("gradcheck", o.name + " has no input of a floating dtype to check");
  Probe p{calls, {}, o, std::max(1e-9, o.rtol)};
  FunctionReport r;
  r.function = o.name;
  r.differences.options = o;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (const Tensor& x = inputs[k].value; !is_floating(x.dtype()))
      r.not_checked.push_back("input " + std::to_string(k) + " " + calls.inputs[k].name + " " +
                              to_string(x.shape()) + " " + std::string(name_of(x.dtype())));
  auto set = [&](FunctionCheck check) {
    for (FunctionCheck& c : r.checks)
      if (c.name == check.name) c = std::move(check);
  };
  for (const char* name : kChecks)
    r.checks.push_back({name, CheckVerdict::Undecided, "not checked"});
  std::string of_gradient;
  set(check_form(p));
  if (!p.dx.empty()) try {
      set(check_repeatable(p));
      if (r.check("repeatable").verdict == CheckVerdict::Passed) {
        set(check_stateless(p));
        set(check_linear(p));
        set(check_batch(p));
        r.differences =
            differences(calls.as_function(), calls.selected_inputs(), r.differences.options);
        set(verdict_of(r.differences));
        p.rounds = std::any_of(r.differences.inputs.begin(), r.differences.inputs.end(),
                               [](const GradcheckEntry& e) { return e.rounds; });
        if (r.differences.failed() > 0 && right_in_float64(calls, r.differences))
          set({"differences", CheckVerdict::Undecided,
               "right in float64; in float32 rounding exceeds the tolerance here"});
        else if (r.differences.failed() > 0)
          of_gradient = name_mistake(p, r.differences);
        set(check_broadcast(p, r.differences));
        if (r.check("form").verdict == CheckVerdict::Passed &&
            r.check("stateless").verdict != CheckVerdict::Failed && r.differences.failed() == 0 &&
            r.differences.problem.empty())
          set(check_elsewhere(p));
        else
          set({"elsewhere", CheckVerdict::NotApplicable, "something is wrong here"});
      }
    } catch (const FormError& e) {
      set({"form", CheckVerdict::Failed, e.text});
    }
  set(check_inputs(p));
  r.mistake = likely_mistake(r, of_gradient);
  return r;
}

}  // namespace glim
