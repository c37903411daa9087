#include "autograd/gradcheck/gradcheck.hpp"

#include <algorithm>

#include "autograd/gradcheck/check.hpp"
#include "autograd/gradcheck/mistakes.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/plan.hpp"

namespace glim {

using namespace detail;

GradcheckReport gradcheck(const CheckedFunction& function,
                          const std::vector<GradcheckInput>& inputs,
                          const GradcheckOptions& options) {
  std::vector<Var> xs;
  NamedParameters leaves;
  for (const GradcheckInput& x : inputs) {
    const std::string name = x.name.empty() ? "x" + std::to_string(xs.size()) : x.name;
    xs.push_back(Var::leaf(x.value, name));
    xs.back().leaf().trainable = x.check && is_floating(x.value.dtype());
    leaves.emplace_back(name, xs.back());
  }
  const CheckedClosure at_xs = [&] { return function(xs); };
  return gradcheck(function ? at_xs : CheckedClosure(), leaves, options);
}

GradcheckReport gradcheck(const CheckedClosure& function, const NamedParameters& parameters,
                          const GradcheckOptions& settings) {
  if (!function) throw ValueError("gradcheck", settings.name + " is an empty function");
  Subject f;
  bool any = false, float32 = false;
  for (const auto& [name, v] : parameters) {
    const auto known = std::find_if(f.leaves.begin(), f.leaves.end(),
                                    [&v = v](const Var& l) { return same_leaf(l, v); });
    if (known != f.leaves.end()) {
      f.names[known - f.leaves.begin()] += " = " + name;
      continue;
    }
    f.add(name, v);
    const bool checked = f.checked(f.leaves.size() - 1);
    any = any || checked;
    float32 = float32 || (checked && v.dtype() == DType::Float32);
  }
  GradcheckOptions options = settings;
  if (!any)
    throw ValueError("gradcheck", options.name + " has no input of a floating dtype to check");
  if (float32) require_highest_precision("gradcheck");
  if (options.all_precise && !float32) {
    options.precise = true;
    options.atol = options.rtol = 0;
  }
  struct PutBack {
    const Subject& f;
    ~PutBack() { f.put(f.values); }
  } put_back{f};
  f.run = [&](bool) {
    std::vector<Var> outputs = floating_only(function());
    if (outputs.empty())
      throw ValueError("gradcheck", options.name + " has no output of a floating dtype to check");
    return outputs;
  };
  const Subject checked = options.second_order ? gradient_of(f, options.seed) : f;
  Checked found = check(checked, options);
  if (found.report.failed() > 0 && options.explain != GradcheckOptions::Explain::Nothing)
    explain(f, checked, found);
  return found.report;
}

}  // namespace glim
