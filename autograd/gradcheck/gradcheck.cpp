#include "autograd/gradcheck/gradcheck.hpp"

#include <algorithm>

#include "autograd/gradcheck/numeric.hpp"
#include "autograd/ops.hpp"

namespace glim {
namespace {

std::string numbered(std::string name, std::size_t i) { return name += std::to_string(i); }

}  // namespace

std::vector<Var> detail::floating_only(std::vector<Var> outputs) {
  std::erase_if(outputs, [](const Var& y) { return !is_floating(y.dtype()); });
  return outputs;
}

detail::Subject detail::gradient_of(const Subject& f, std::uint64_t seed) {
  Subject g = f;
  std::size_t n = f.values.size();
  {
    SameRandom same;
    Tape tape;
    std::vector<Var> xs;
    std::vector<Var> ys = f.run(f.values, xs, false);
    for (std::size_t o = 0; o < ys.size(); ++o) {
      g.names.push_back(ys.size() == 1 ? "dy" : numbered("dy", o));
      g.values.push_back(random_like(ys[o].value(), {seed, std::uint64_t{3} << 32 | o}));
      g.checked.push_back(true);
    }
  }
  g.run = [f, n](const std::vector<Tensor>& at, std::vector<Var>& xs, bool recorded) {
    auto middle = at.begin() + static_cast<std::ptrdiff_t>(n);
    std::vector<Var> ys = f.run({at.begin(), middle}, xs, true);
    Var total;
    for (std::size_t o = 0; o < ys.size(); ++o) {
      xs.push_back(Var::leaf(at[n + o], "dy"));
      Var part = sum(mul(ys[o], xs.back()));
      total = total.defined() ? add(total, part) : part;
    }
    std::vector<Var> wanted;
    for (std::size_t k = 0; k < n; ++k)
      if (f.checked[k]) wanted.push_back(xs[k]);
    return Tape::current()->grad(total, wanted, {}, {.create_graph = recorded});
  };
  return g;
}

namespace {

using namespace detail;

thread_local bool all_precise = false;

GradcheckReport check(const Subject& subject, GradcheckOptions options) {
  bool any = false, float32 = false;
  for (std::size_t k = 0; k < subject.checked.size(); ++k) {
    any |= subject.checked[k];
    float32 |= subject.checked[k] && subject.values[k].dtype() == DType::Float32;
  }
  if (all_precise && !float32) {
    options.precise = true;
    options.atol = options.rtol = 0;
  }
  const Subject checked =
      options.second_order && any ? gradient_of(subject, options.seed) : subject;
  GradcheckReport report = compare(checked, options);
  if (report.failed() > 0) diagnose(subject, checked, report);
  return report;
}

}  // namespace

PreciseGradchecks::PreciseGradchecks(bool on) : before_(std::exchange(all_precise, on)) {}
PreciseGradchecks::~PreciseGradchecks() { all_precise = before_; }

GradcheckReport gradcheck(const CheckedFunction& function,
                          const std::vector<GradcheckInput>& inputs,
                          const GradcheckOptions& options) {
  Subject subject;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const GradcheckInput& x = inputs[k];
    subject.names.push_back(x.name.empty() ? numbered("x", k) : x.name);
    subject.values.push_back(x.value);
    subject.checked.push_back(x.check && is_floating(x.value.dtype()));
  }
  subject.run = [&function, names = subject.names, checked = subject.checked](
                    const std::vector<Tensor>& at, std::vector<Var>& xs, bool) {
    xs.clear();
    for (std::size_t k = 0; k < at.size(); ++k)
      xs.push_back(checked[k] ? Var::leaf(at[k], names[k]) : Var(at[k]));
    return floating_only(function(xs));
  };
  return check(subject, options);
}

GradcheckReport gradcheck(const CheckedClosure& function, const NamedParameters& parameters,
                          const GradcheckOptions& options) {
  Subject subject;
  std::vector<Var> leaves;
  for (const auto& [name, v] : parameters) {
    auto known = std::find_if(leaves.begin(), leaves.end(),
                              [&v = v](const Var& l) { return same_leaf(l, v); });
    if (known != leaves.end()) {
      subject.names[known - leaves.begin()] += " = " + name;
      continue;
    }
    leaves.push_back(v);
    subject.names.push_back(name);
    subject.values.push_back(v.leaf().value);
    subject.checked.push_back(v.leaf().trainable && is_floating(v.dtype()));
  }
  struct PutBack {
    const std::vector<Var>& leaves;
    const std::vector<Tensor> values;
    ~PutBack() {
      for (std::size_t k = 0; k < leaves.size(); ++k) leaves[k].leaf().value = values[k];
    }
  } put_back{leaves, subject.values};
  subject.run = [&function, &leaves](const std::vector<Tensor>& at, std::vector<Var>& xs, bool) {
    for (std::size_t k = 0; k < leaves.size(); ++k) leaves[k].leaf().value = at[k];
    xs = leaves;
    return floating_only(function());
  };
  return check(subject, options);
}

}  // namespace glim
