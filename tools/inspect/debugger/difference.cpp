#include "tools/inspect/debugger/difference.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "autograd/gradcheck/analytic.hpp"
#include "autograd/gradcheck/compare.hpp"
#include "tensor/error.hpp"
#include "tools/inspect/debugger/show.hpp"

namespace glim::step {
namespace {

std::vector<double> elements(const Tensor& x) { return x.to(DType::Float64).to_vector<double>(); }

double largest(const Tensor& x) {
  double most = 0;
  for (double e : elements(x)) most = std::max(most, std::abs(e));
  return most;
}

// A copy that may be moved: in float64, or of x's own dtype. Tensors that are not floating stay as they are.
Tensor movable(const Tensor& x, bool in_float64 = true) {
  if (!x.defined() || !is_floating(x.dtype())) return x;
  return (in_float64 ? x.to(DType::Float64) : x).contiguous().clone();
}

// A number that depends on a tensor x, whose elements are moved one at a time.
class Beside {
 public:
  Beside(Tensor x, std::function<double()> f)
      : x_(std::move(x)), f_(std::move(f)), origin_{{f_()}, {}, in_float64() ? 0x1p-52 : 0x1p-23} {}

  bool in_float64() const { return x_.dtype() == DType::Float64; }
  double element(Index i) const {
    return in_float64() ? x_.data<double>()[i] : static_cast<double>(x_.data<float>()[i]);
  }
  detail::Line line(Index i) const {
    const double x = element(i);
    return {origin_,
            [this, i, x](double t) {
              set(i, x + t);
              const double y = f_();
              set(i, x);
              return std::vector<double>{y};
            },
            std::abs(x)};
  }

 private:
  void set(Index i, double value) const {
    if (in_float64())
      x_.data<double>()[i] = value;
    else
      x_.data<float>()[i] = static_cast<float>(value);
  }
  Tensor x_;
  std::function<double()> f_;
  detail::Origin origin_;
};

GradcheckEntry compare(const Beside& f, const Tensor& gradient, Index most,
                       const detail::Tolerance& tolerance, const std::function<bool()>& stop) {
  GradcheckEntry d;
  d.shape = gradient.shape();
  auto sent = elements(gradient);
  d.checked = std::min(most, gradient.numel());
  for (Index c = 0; c < d.checked; ++c) {
    if (stop && stop()) throw StateError("diff", "interrupted");
    Index e = c * gradient.numel() / d.checked;
    double analytic = sent[static_cast<std::size_t>(e)];
    detail::Line line = f.line(e);
    const detail::Verdict v = detail::compare(analytic, line, 0, tolerance, false);
    if (v.kind == detail::Verdict::Undecidable) {
      ++d.undecidable;
      continue;
    }
    d.failed += v.kind == detail::Verdict::Wrong;
    const double excess = tolerance.excess(analytic, v.numeric);
    if (excess <= d.excess) continue;
    d.excess = excess;
    d.index = detail::unravel(gradient.shape(), e);
    d.analytic = analytic;
    d.numeric = v.numeric;
  }
  return d;
}

// L as a function of one node's value: the nodes that depend on it, in order of creation.
class Downstream {
 public:
  Downstream(const Pass& pass, int node) : x_(movable(pass[node].value)) {
    std::vector<int> place(static_cast<std::size_t>(pass.loss()) + 1, -1);
    values_.push_back(x_);
    place[static_cast<std::size_t>(node)] = 0;
    for (int i = 0; i <= pass.loss(); ++i) {
      const PassNode& n = pass[i];
      if (i == node || n.is_leaf()) continue;
      Run run{nullptr, {}, {}, values_.size()};
      for (std::size_t k = 0; k < n.inputs.size(); ++k)
        if (int input = n.inputs[k]; input >= 0 && place[static_cast<std::size_t>(input)] >= 0)
          run.moved.emplace_back(k, place[static_cast<std::size_t>(input)]);
      if (run.moved.empty()) continue;
      run.again = &n.run;
      if (!n.run) blocked_ = i;
      for (const Tensor& x : n.operands) run.operands.emplace_back(movable(x));
      place[static_cast<std::size_t>(i)] = static_cast<int>(run.result);
      values_.emplace_back();
      runs_.push_back(std::move(run));
    }
  }
  const Tensor& x() const { return x_; }
  int blocked() const { return blocked_; }  // a checkpointed region on the way, or -1
  double loss() {
    for (Run& r : runs_) {
      for (auto [k, from] : r.moved) r.operands[k] = values_[static_cast<std::size_t>(from)];
      values_[r.result] = (*r.again)(r.operands).value();
    }
    return elements(values_.back())[0];
  }

 private:
  struct Run {
    const RunAgain* again;
    std::vector<Var> operands;
    std::vector<std::pair<std::size_t, int>> moved;  // which operands, and where their values are
    std::size_t result;
  };
  Tensor x_;
  std::vector<Tensor> values_;
  std::vector<Run> runs_;
  int blocked_ = -1;
};

void compare_gradient(const Pass& pass, int node, Index most, const std::function<bool()>& stop,
                      Difference& found) {
  Tensor gradient = pass.gradient(node);
  bool exact = gradient.dtype() == DType::Float64;
  try {
    Downstream below(pass, node);
    if (int i = below.blocked(); i >= 0) {
      found.gradient_note = pass[i].path + ", a checkpointed region, is run by its function alone";
      return;
    }
    Beside loss(below.x(), [&] { return below.loss(); });
    double scale = exact ? 1e-2 : 1;
    detail::Tolerance tolerance{scale * 1e-5 * largest(gradient), scale * 1e-3};
    double value = pass.loss_value();
    tolerance.atol += scale * 1e-6 * std::max(1.0, std::abs(value));
    found.gradient = compare(loss, gradient, most, tolerance, stop);
  } catch (const DTypeError&) {
    found.gradient_note = "an op on the way to the loss has float32 constants of its own";
  }
}

void compare_op(Pass& pass, int node, Index most, const std::function<bool()>& stop,
                Difference& found) {
  const PassNode& n = pass[node];
  if (!n.run)
    throw StateError("diff", n.path +
                                 " is a checkpointed region, which is run by its "
                                 "function, not on other operands");
  Tensor dy = found.own_gradient ? pass.gradient(node) : Tensor();
  double unit = dy.defined() ? largest(dy) : 0;
  if (!(unit > 0)) {
    found.own_gradient = false;
    dy = detail::random_like(n.value, {17, 1});
    unit = largest(dy);
  }
  // One step of a walk of its own, from this node: what the op's backward sends.
  Tape& tape = pass.tape();
  WalkStep step = BackwardWalk(tape, tape.value(node), dy, {.retain = true}).step();
  std::vector<double> weights = elements(dy);
  std::vector<Var> operands;
  auto result = [&] {
    auto y = elements(n.run(operands).value());
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += weights[i] * y[i];
    return sum;
  };
  auto fill = [&](bool in_float64) {
    operands.clear();
    for (const Tensor& x : n.operands) operands.emplace_back(movable(x, in_float64));
    result();
  };
  try {
    fill(true);
  } catch (const DTypeError&) {
    found.in_float64 = false;
    fill(false);
  }
  bool exact = dy.dtype() == DType::Float64;
  detail::Tolerance tolerance{exact ? 1e-7 : 1e-5, exact ? 1e-5 : 1e-3};
  if (!found.in_float64) tolerance = {2e-3, 1e-2};
  tolerance.atol *= unit;
  for (const Flow& flow : step.flows) {
    found.inputs.push_back(compare(Beside(operands[flow.input].value(), result), flow.gradient,
                                   most, tolerance, stop));
    found.inputs.back().input = flow.input;
  }
}

std::string comparison_text(const GradcheckEntry& c, const char* name) {
  std::string text = fmt::format("{} of {} elements", c.checked, numel_of(c.shape));
  if (c.undecidable) text += fmt::format(", {} undecidable", c.undecidable);
  if (c.checked == c.undecidable) return text + "\n";
  text += c.failed ? fmt::format(": WRONG at {} of them\n", c.failed) : ": agrees\n";
  return text + fmt::format("    worst at {}: {} {:.6g}, difference {:.6g}\n", to_string(c.index),
                            name, c.analytic, c.numeric);
}

}  // namespace

Difference difference(Pass& pass, int node, Index most, const std::function<bool()>& stop) {
  bool leaf = pass[node].is_leaf();
  Difference found;
  GradientState turn = pass.state(node);
  found.own_gradient = turn == GradientState::Now || turn == GradientState::Taken;
  if (found.own_gradient)
    compare_gradient(pass, node, most, stop, found);
  else
    found.gradient_note = gradient_note(pass, node);
  if (leaf && !found.own_gradient)
    throw StateError("diff", pass[node].path + ": " + found.gradient_note);
  if (!leaf) compare_op(pass, node, most, stop, found);
  return found;
}

std::string to_text(const Pass& pass, int node, const Difference& d) {
  const PassNode& n = pass[node];
  std::string text = fmt::format("#{} {}  {}\n", node, pass[node].path, n.op);
  if (d.gradient)
    text +=
        "  gradient against differences of the loss, " + comparison_text(*d.gradient, "gradient");
  else
    text += "  gradient not compared with the loss: " + d.gradient_note + "\n";
  if (n.is_leaf()) return text;
  text += fmt::format("  op against differences of its forward in {}, for {}{}\n",
                      d.in_float64 ? "float64" : "float32",
                      d.own_gradient ? "the gradient that it got"
                                     : "a random gradient (its own is incomplete or zero)",
                      d.inputs.empty() ? ": it sends nothing" : "");
  for (const GradcheckEntry& i : d.inputs)
    text += fmt::format("  d{} to #{} {}, {}", input_name(n.op, i.input), n.inputs[i.input],
                        pass[n.inputs[i.input]].path, comparison_text(i, "sent"));
  return text;
}

}  // namespace glim::step
