// Is backward right for other values and other sizes too, in the process in which it was checked?
#include <algorithm>
#include <cmath>

#include "autograd/gradcheck/analytic.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/foreign/differences.hpp"
#include "tools/foreign/other_inputs.hpp"

namespace glim::foreign {

// A random direction of at most length 4.
static Tensors direction_of(const Probe& p, const Calls& c, const Tensors& x) {
  Tensors v;
  double squares = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    v.push_back(c.selection[k] ? detail::random_like(x[k], {p.options.seed, (7ull << 32) + k})
                               : Tensor());
    if (c.selection[k]) squares += dot(v[k], v[k]);
  }
  for (Tensor& one : v)
    if (one.defined()) one = std::min(1.0, 4 / std::sqrt(squares)) * one;
  return v;
}

// Σ dy f at x + step v.
static double value_along(Calls& c, const Tensors& x, const Tensors& dy, const Tensors& v,
                          double step) {
  Tensors moved;
  for (std::size_t k = 0; k < x.size(); ++k)
    moved.push_back(v[k].defined() ? x[k] + step * v[k] : x[k]);
  const Tensors y = c.value(moved);
  double total = 0;
  for (std::size_t o = 0; o < y.size(); ++o)
    if (dy[o].defined()) total += dot(dy[o].to(y[o].dtype()), y[o]);
  return total;
}

bool bends(const Probe& p, Calls& c, const Tensors& x, const Tensors& dy) {
  const Tensors v = direction_of(p, c, x);
  try {
    const double middle = value_along(c, x, dy, v, 0);
    const double after = value_along(c, x, dy, v, p.step) - middle,
                 before = middle - value_along(c, x, dy, v, -p.step);
    const double least = 1e-4 * p.step * std::max(1.0, std::abs(middle));  // rounding is below
    return std::abs(after - before) >
           std::max(least, 1e-2 * std::max(std::abs(after), std::abs(before)));
  } catch (const std::exception&) {  // f takes x alone
    return true;
  }
}

Found compare_at(const Probe& p, Calls& c, const Tensors& x, const Tensors& dy, Tensors* gradient) {
  const Tensors v = direction_of(p, c, x);
  double numeric = 0;
  try {
    numeric = (value_along(c, x, dy, v, p.step) - value_along(c, x, dy, v, -p.step)) / (2 * p.step);
  } catch (const std::exception&) {
    return {Found::Refused};
  }
  if (!std::isfinite(numeric)) return {Found::Refused, "f is not a number at other values"};
  double analytic = 0;
  try {
    const Tensors dx = c.gradient(x, dy);
    if (gradient) *gradient = dx;
    for (std::size_t k = 0; k < x.size(); ++k)
      if (v[k].defined()) analytic += dot(dx[k], v[k]);
  } catch (const FormError& e) {
    return {Found::Wrong, e.text};
  } catch (const std::exception&) {
    return {Found::Unknown, kRaises};
  }
  const double most = std::max(std::abs(analytic), std::abs(numeric));
  const double enough = p.options.rtol > 0  ? p.options.rtol
                        : p.options.precise ? 1e-10
                        : p.step > 0x1p-17  ? 1e-2
                                            : 1e-6;
  if (std::abs(analytic - numeric) <= enough * most) return {Found::Right};
  std::vector<GradcheckInput> inputs = c.selected_inputs();
  for (std::size_t k = 0; k < x.size(); ++k) inputs[k].value = x[k];
  try {
    const GradcheckReport report = differences(c.as_function(), inputs, p.along_one());
    for (const GradcheckEntry& e : report.inputs) {
      if (e.failed == 0) continue;
      const double apart = std::abs(e.analytic - e.numeric);
      // In float32, terms of backward that cancel leave a rounding of some 64 ε.
      if (p.step > 0x1p-17 && apart <= 0x1p-18 * p.largest_dx())
        return {Found::Refused, "gradients are as small as their rounding"};
      // Where f rounds, another place may hide a change of f, and a stale gradient is far off.
      if (!(p.rounds || e.rounds) || (e.numeric != 0 && apart > 0.5 * std::abs(e.numeric)))
        return {Found::Wrong, "the gradient of " + e.name + " is wrong", std::isfinite(analytic)};
    }
    return {report.passed() ? Found::Right : Found::Unknown, "no difference decides"};
  } catch (const std::exception&) {
    return {Found::Refused};
  }
}

FunctionCheck check_elsewhere(Probe& p) {
  FunctionCheck check{"elsewhere", CheckVerdict::Failed, ""};
  const Found values = other_values(p);
  if (values.kind == Found::Wrong) {
    check.detail = values.why;
    return check;
  }
  const Found sizes = other_sizes(p);
  if (sizes.kind == Found::Wrong) {
    check.detail = sizes.why;
    return check;
  }
  if (!p.repeats()) {
    check.detail = kState;
    return check;
  }
  check.verdict = CheckVerdict::Undecided;
  for (const Found* doubt : {&values, &sizes})
    if (doubt->kind == Found::Doubtful) {
      check.doubt = true;
      check.detail = doubt->why;
      return check;
    }
  if ((values.kind == Found::Right || sizes.kind == Found::Right) && sizes.kind != Found::Unknown)
    check.verdict = CheckVerdict::Passed;
  check.detail = values.kind == Found::Right     ? "right for other values"
                 : values.kind == Found::Refused ? values.why
                                                 : "not decided for other values: " + values.why;
  check.detail += (sizes.kind == Found::Right ? ", and for " : "; ") + sizes.why;
  for (std::size_t i = 0; i < p.untried.size(); ++i)
    check.detail += (i == 0 ? "; not tried: " : ", ") + p.untried[i];
  return check;
}

}  // namespace glim::foreign
