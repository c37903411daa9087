#include "tools/foreign/function.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autograd/apply.hpp"
#include "autograd/ops.hpp"

namespace glim {
namespace {

Tensors copies(const Tensors& list) {
  Tensors all;
  for (const Tensor& x : list) all.push_back(x.defined() ? x.clone() : x);
  return all;
}

// The function as an op. Its outputs of a floating dtype are one after the other in one vector, unless there is one.
struct Foreign final : Op {
  static constexpr Formula formula{"foreign", "y = f(x)", {}};
  explicit Foreign(const Function& function) : f(&function) {}

  Tensor forward(const Tensors& x) {
    keep_inputs = copies(x);
    outputs = copies(f->value(copies(x)));
    Tensors floating;
    for (const Tensor& y : outputs)
      if (is_floating(y.dtype())) floating.push_back(y);
    if (floating.empty())
      throw ValueError("gradcheck", "the function has no output of a floating dtype");
    if (floating.size() == 1) return floating[0];
    for (Tensor& y : floating) y = reshape(y.to(floating[0].dtype()), {-1});
    return Var(concatenate({floating.begin(), floating.end()}, 0)).value();
  }
  Grads gradient(const Var& dy) const override {
    Tensors by_output;
    Index from = 0;
    for (const Tensor& y : outputs) {
      if (!is_floating(y.dtype())) {
        by_output.emplace_back();
        continue;
      }
      const bool only = dy.numel() == y.numel();
      by_output.push_back(only ? reshape(dy.value(), y.shape())
                               : reshape(narrow(dy.value(), 0, from, y.numel()), y.shape()));
      by_output.back() = by_output.back().to(y.dtype()).clone();
      from += y.numel();
    }
    const Tensors dx = f->gradient(copies(keep_inputs), by_output);
    Grads all;
    for (std::size_t k = 0; k < keep_inputs.size(); ++k) {
      if (!needs_grad(k)) continue;
      const Tensor& x = keep_inputs[k];
      all[k] = k < dx.size() && dx[k].defined() ? dx[k].to(x.dtype()).clone()
                                                : zeros(x.shape(), x.dtype());
    }
    return all;
  }

  const Function* f;
  Tensors keep_inputs, outputs;
};

CheckedOutputs run(const Function& f, const std::vector<Var>& x) {
  return apply(Foreign(f), x, Where::current());
}

FunctionCheck differences(FunctionReport& report) {
  const GradcheckReport& d = report.differences;
  for (const GradcheckEntry& e : d.inputs)
    if (report.mistake.empty() && e.failed) report.mistake = e.mistake.name;
  return {"differences",
          d.passed()      ? CheckVerdict::Passed
          : d.undecided() ? CheckVerdict::Undecided
                          : CheckVerdict::Failed,
          d.problem};
}

}  // namespace

std::string_view name_of(CheckVerdict v) {
  constexpr std::string_view kNames[] = {"passed", "failed", "undecided", "not applicable"};
  return kNames[static_cast<int>(v)];
}

FunctionReport check_function(const Function& f, const std::vector<GradcheckInput>& inputs,
                              const FunctionOptions& o) {
  FunctionReport report;
  report.function = o.name;
  GradcheckOptions options;
  options.name = o.name;
  options.mode = o.full ? GradcheckOptions::Mode::Full : GradcheckOptions::Mode::Projection;
  options.precise = o.precise;
  options.atol = o.atol;
  options.rtol = o.rtol;
  options.seed = o.seed;
  report.differences =
      gradcheck([&](const std::vector<Var>& x) { return run(f, x); }, inputs, options);
  report.checks.push_back(differences(report));
  return report;
}

bool FunctionReport::passed() const {
  return differences.passed() &&
         std::none_of(checks.begin(), checks.end(),
                      [](const FunctionCheck& c) { return c.verdict == CheckVerdict::Failed; });
}

std::string FunctionReport::text() const { return differences.to_string(); }

std::string FunctionReport::to_json() const {
  nlohmann::ordered_json j{{"function", function}, {"passed", passed()}, {"mistake", nullptr}};
  if (!mistake.empty()) j["mistake"] = mistake;
  for (const FunctionCheck& c : checks) j["verdicts"][c.name] = name_of(c.verdict);
  j["text"] = text();
  return j.dump();
}

}  // namespace glim
