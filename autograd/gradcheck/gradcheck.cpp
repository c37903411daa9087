#include "autograd/gradcheck/gradcheck.hpp"

#include <algorithm>

#include "autograd/gradcheck/check.hpp"
#include "autograd/gradcheck/mistakes/mistakes.hpp"

namespace glim {

using namespace detail;

namespace {

GradcheckReport check_and_explain(const Subject& f, GradcheckOptions options) {
  bool any = false, float32 = false;
  for (std::size_t k = 0; k < f.checked.size(); ++k) {
    any |= f.checked[k];
    float32 |= f.checked[k] && f.values[k].dtype() == DType::Float32;
  }
  if (!any)
    throw ValueError("gradcheck", options.name + " has no input of a floating dtype to check");
  if (options.all_precise && !float32) {
    options.precise = true;
    options.atol = options.rtol = 0;
  }
  const Subject checked = options.second_order ? gradient_of(f, options.seed) : f;
  Checked found = check(checked, options);
  if (found.report.failed() > 0) explain(f, checked, found);
  return found.report;
}

}  // namespace

GradcheckReport gradcheck(const CheckedFunction& function,
                          const std::vector<GradcheckInput>& inputs,
                          const GradcheckOptions& options) {
  Subject f;
  for (const GradcheckInput& x : inputs) {
    f.names.push_back(x.name.empty() ? "x" + std::to_string(f.names.size()) : x.name);
    f.values.push_back(x.value);
    f.checked.push_back(x.check && is_floating(x.value.dtype()));
  }
  f.run = [&function, names = f.names, checked = f.checked](const std::vector<Tensor>& at,
                                                            std::vector<Var>& xs, bool) {
    xs.clear();
    for (std::size_t k = 0; k < at.size(); ++k)
      xs.push_back(checked[k] ? Var::leaf(at[k], names[k]) : Var(at[k]));
    return floating_only(function(xs));
  };
  return check_and_explain(f, options);
}

GradcheckReport gradcheck(const CheckedClosure& function, const NamedParameters& parameters,
                          const GradcheckOptions& options) {
  Subject f;
  std::vector<Var> leaves;
  for (const auto& [name, v] : parameters) {
    const auto known = std::find_if(leaves.begin(), leaves.end(),
                                    [&v = v](const Var& l) { return same_leaf(l, v); });
    if (known != leaves.end()) {
      f.names[known - leaves.begin()] += " = " + name;
      continue;
    }
    leaves.push_back(v);
    f.names.push_back(name);
    f.values.push_back(v.leaf().value);
    f.checked.push_back(v.leaf().trainable && is_floating(v.dtype()));
  }
  const auto put = [&leaves](const std::vector<Tensor>& values) {
    for (std::size_t k = 0; k < leaves.size(); ++k) leaves[k].leaf().value = values[k];
  };
  struct PutBack {
    std::function<void()> put;
    ~PutBack() { put(); }
  } put_back{[&] { put(f.values); }};
  f.run = [&](const std::vector<Tensor>& at, std::vector<Var>& xs, bool) {
    put(at);
    xs = leaves;
    return floating_only(function());
  };
  return check_and_explain(f, options);
}

}  // namespace glim
