// Does the gradient treat the examples of a batch as f does? Does it sum over broadcast axes?
#include <algorithm>
#include <optional>

#include "autograd/gradcheck/analytic.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/foreign/checks.hpp"

namespace glim::foreign {
namespace {

bool is_batch(const Tensor& x, Index examples) {
  return x.defined() && is_floating(x.dtype()) && x.rank() > 0 && x.shape()[0] == examples;
}

// x with the examples of `other` whose number has `bit` in it or, unless `has`, has not.
Tensor moved(const Tensor& x, const Tensor& other, int bit, bool has) {
  const Tensor y = x.clone();
  for (Index i = 0; i < x.shape()[0]; ++i)
    if ((i >> bit & 1) == has) select(y, 0, i).copy_(select(other, 0, i));
  return y;
}

// Has `after` the examples that were not moved as `before` has them?
bool others_equal(const Tensor& before, const Tensor& after, int bit, bool has, double near) {
  const Tensor copy = after.clone();
  for (Index i = 0; i < before.shape()[0]; ++i)
    if ((i >> bit & 1) == has) select(copy, 0, i).copy_(select(before, 0, i));
  return alike(before, copy, near);
}

// Does f(list) keep apart the examples of list[k] and of `other`? Every pair of examples differs in a bit of its numbers.
template <class F>
bool independent(const Tensors& list, std::size_t k, const Tensor& other, const Tensors& before,
                 const F& f, double near) {
  const Index examples = list[k].shape()[0];
  for (int bit = 0; Index{1} << bit < examples; ++bit)
    for (const bool has : {false, true}) {
      Tensors inputs = list;
      inputs[k] = moved(list[k], other, bit, has);
      const Tensors after = f(inputs);
      for (std::size_t o = 0; o < before.size(); ++o)
        if (is_batch(before[o], examples) && !others_equal(before[o], after[o], bit, has, near))
          return false;
    }
  return true;
}

// A larger shape that f takes for input k, to the same value.
std::optional<Shape> larger_shape(Probe& p, std::size_t k) {
  Tensors shapes = p.x;
  shapes.insert(shapes.end(), p.y.begin(), p.y.end());
  for (const Tensor& like : shapes) {
    if (like.numel() <= p.x[k].numel() || !broadcasts(p.x[k].shape(), like.shape())) continue;
    Tensors inputs = p.x;
    inputs[k] = broadcast_to(p.x[k], like.shape()).clone();
    try {
      if (close(p.calls.value(inputs), p.y, p.near)) return like.shape();
    } catch (const std::exception&) {  // it takes no such shape
    }
  }
  return {};
}

// Is a wrong gradient of input k at least the sum of the one that backward gives for the larger shape?
CheckVerdict sums(Probe& p, std::size_t k, const Shape& larger) {
  Tensors inputs = p.x;
  inputs[k] = broadcast_to(p.x[k], larger).clone();
  try {
    const Tensor sum = sum_to(p.calls.gradient(inputs, p.dy)[k], p.x[k].shape());
    return close({sum}, {p.dx[k]}, p.near) ? CheckVerdict::Passed : CheckVerdict::Failed;
  } catch (const std::exception&) {
    return CheckVerdict::Undecided;
  }
}

// The check of broadcast input k. `differences` has its derivatives, if its gradient has its shape.
FunctionCheck broadcast_input(Probe& p, std::size_t k, const Shape& larger,
                              const GradcheckEntry& differences) {
  FunctionCheck check{"broadcast", CheckVerdict::Passed, p.shape_mistakes[k]};
  if (!check.detail.empty())
    check.verdict = CheckVerdict::Failed;
  else if (differences.failed > 0)
    check.verdict = sums(p, k, larger);
  else if (differences.decisive == 0)
    check.verdict = CheckVerdict::Undecided;
  if (check.verdict == CheckVerdict::Passed || !check.detail.empty()) return check;
  check.detail =
      "f broadcasts " + p.calls.inputs[k].name + " " + to_string(p.x[k].shape()) + " to " +
      to_string(larger) + ", and the gradient is " +
      (check.verdict == CheckVerdict::Failed ? "not the sum" : "not known to be the sum");
  return check;
}

}  // namespace

FunctionCheck check_batch(Probe& p) {
  FunctionCheck check{"batch", CheckVerdict::NotApplicable, "f has no examples along axis 0"};
  Index examples = 0;
  for (const Tensor& y : p.y)
    if (is_floating(y.dtype()) && examples == 0) examples = y.rank() ? y.shape()[0] : -1;
  for (const Tensor& y : p.y)
    if (is_floating(y.dtype()) && !is_batch(y, examples)) return check;
  if (examples < 2) return check;
  auto value = [&](const Tensors& x) { return p.calls.value(x); };
  std::vector<std::size_t> batched;
  try {
    for (std::size_t k = 0; k < p.x.size(); ++k)
      if (p.calls.selection[k] && is_batch(p.x[k], examples) &&
          independent(p.x, k, beside(p.x[k]), p.y, value, p.near) &&
          independent(p.x, k, 0.75 * p.x[k], p.y, value, p.near))  // rounding hides a small change
        batched.push_back(k);
  } catch (const std::exception&) {
    return {"batch", CheckVerdict::Undecided, kNoneBeside};
  }
  if (batched.empty()) return check;
  check = {"batch", CheckVerdict::Passed, ""};
  auto fail = [&](const std::string& name) {
    check.verdict = CheckVerdict::Failed;
    check.detail =
        "the gradient of an example depends on " + name + " of another, which f keeps apart";
  };
  // Gradients of the batched inputs alone: others are sums over the examples.
  auto of_batched = [&](Tensors dx) {
    for (std::size_t k = 0; k < dx.size(); ++k)
      if (std::find(batched.begin(), batched.end(), k) == batched.end()) dx[k] = {};
    return dx;
  };
  const Tensors before = of_batched(p.dx);
  if (vanishes(before)) return {"batch", CheckVerdict::Undecided, "every gradient is 0"};
  for (std::size_t k : batched)
    if (!independent(
            p.x, k, beside(p.x[k]), before,
            [&](const Tensors& x) { return of_batched(p.calls.gradient(x, p.dy)); }, p.near))
      fail(p.calls.inputs[k].name);
  for (std::size_t o = 0; o < p.dy.size(); ++o)
    if (p.dy[o].defined() &&
        !independent(
            p.dy, o, beside(p.dy[o]), before,
            [&](const Tensors& dy) { return of_batched(p.gradient(dy)); }, p.near))
      fail("dy");
  return check;
}

FunctionCheck check_broadcast(Probe& p, const GradcheckReport& differences) {
  FunctionCheck worst{"broadcast", CheckVerdict::NotApplicable, "f broadcasts no input"};
  for (std::size_t k = 0; k < p.x.size(); ++k) {
    const auto e = std::find_if(differences.inputs.begin(), differences.inputs.end(),
                                [&](const GradcheckEntry& entry) { return entry.input == k; });
    if (e == differences.inputs.end() && p.shape_mistakes[k].empty()) continue;
    const std::optional<Shape> larger = larger_shape(p, k);
    if (!larger) continue;
    const FunctionCheck check =
        broadcast_input(p, k, *larger, e == differences.inputs.end() ? GradcheckEntry() : *e);
    // Failed before undecided before passed.
    if (worst.verdict == CheckVerdict::NotApplicable || worst.verdict == CheckVerdict::Passed ||
        check.verdict == CheckVerdict::Failed)
      worst = check;
  }
  return worst;
}

}  // namespace glim::foreign
