#include "tools/inspect/debugger/difference.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "autograd/gradcheck/check.hpp"
#include "autograd/op.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/inspect/debugger/show.hpp"

namespace glim::step {
namespace {

using Number = std::function<double(const Tensor& x)>;

// A number whose gradient is the pass's: for gradcheck, the pass is the rule of this op.
struct NumberOp final : Op {
  static constexpr Formula formula{"number", "y = f(x)", {}};
  NumberOp(Number f, Tensor gradient) : number(std::move(f)), dx(std::move(gradient)) {}
  Tensor forward(const Tensor& x) { return scalar(number(x), DType::Float64); }
  Grads gradient(const Var& dy) const override { return Grads(Var(dy.value().item() * dx)); }
  Number number;
  Tensor dx;
};

double largest(const Tensor& x) {
  double most = 0;
  for (double e : x.to(DType::Float64).to_vector<double>()) most = std::max(most, std::abs(e));
  return most;
}

// Σ y ⊙ dy; Σ y where dy is undefined.
double weighted_sum(const Tensor& y, const Tensor& dy) {
  return dot(y, dy.defined() ? dy.to(y.dtype()) : ones(y.shape(), y.dtype()));
}

std::vector<Var> operands_of(const PassNode& n, DType dtype) {
  std::vector<Var> operands;
  for (const Tensor& x : n.operands)
    operands.emplace_back(x.defined() && is_floating(x.dtype()) ? x.to(dtype) : x);
  return operands;
}

// `gradient` against differences of a function of x, for evenly spaced elements of x. x has the dtype of the
// differences.
GradcheckEntry compare(const Number& f, const Tensor& x, const Tensor& gradient, Index most,
                       const GradcheckOptions& options) {
  GradcheckEntry found;
  found.shape = x.shape();
  found.checked = std::min(most, x.numel());
  std::vector<Index> positions;
  for (Index c = 0; c < found.checked; ++c) positions.push_back(c * x.numel() / found.checked);
  const Tensor index = from_vector(positions, {found.checked});
  const auto chosen = [&](const Tensor& of_x) {
    return index_select(reshape(of_x, {-1}), 0, index);
  };
  const auto spread = [&](const Tensor& elements) {
    return reshape(index_add({x.numel()}, 0, index, elements), x.shape());
  };
  const Tensor others = x - spread(chosen(x));
  const NumberOp op([&](const Tensor& elements) { return f(others + spread(elements)); },
                    chosen(gradient).to(x.dtype()));
  detail::Subject subject;
  subject.add("x", Var::leaf(chosen(x), "x"));
  subject.run = [&](bool) { return std::vector{apply(NumberOp(op), subject.leaves[0])}; };
  const detail::Checked done = detail::check(subject, options);
  if (!done.report.problem.empty())
    throw StateError("diff", options.name + " " + done.report.problem);
  const std::vector<double>& excess = done.report.inputs[0].errors;
  for (std::size_t c = 0; c < excess.size(); ++c) {
    found.undecidable += std::isnan(excess[c]);
    found.failed += excess[c] > 1;
    if (!(excess[c] > found.excess)) continue;
    found.excess = excess[c];
    found.index = detail::unravel(x.shape(), positions[c]);
    found.analytic = done.analytic.rows[0][c];
    found.numeric = done.numeric[0][c];
  }
  return found;
}

// L as a function of one node's value, in float64: the nodes that depend on it, in order of creation.
class Downstream {
 public:
  Downstream(const Pass& pass, int node) : pass_(pass), node_(node) {
    for (int i = node + 1; i <= pass.loss(); ++i) {
      const PassNode& n = pass[i];
      if (std::ranges::none_of(n.inputs, [&](int k) { return k == node || operands_.contains(k); }))
        continue;
      operands_[i] = operands_of(n, DType::Float64);
      if (!n.run) blocked_ = i;
    }
  }
  int blocked() const { return blocked_; }  // a checkpointed region on the way, or -1
  double loss(const Tensor& x) {
    std::map<int, Var> values{{node_, x}};
    for (auto& [i, operands] : operands_) {
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (const auto input = values.find(pass_[i].inputs[k]); input != values.end())
          operands[k] = input->second;
      values[i] = pass_[i].run(operands).value();
    }
    return weighted_sum(values.at(pass_.loss()).value(), pass_.dy());
  }

 private:
  const Pass& pass_;
  int node_, blocked_ = -1;
  std::map<int, std::vector<Var>> operands_;
};

void compare_gradient(const Pass& pass, int node, Index most, const std::function<bool()>& stop,
                      Difference& found) {
  const Tensor gradient = pass.gradient(node);
  Downstream below(pass, node);
  if (int i = below.blocked(); i >= 0) {
    found.gradient_note = pass[i].path + ", a checkpointed region, is run by its function alone";
    return;
  }
  const double scale = gradient.dtype() == DType::Float64 ? 1e-2 : 1;
  GradcheckOptions options{.name = pass[node].path};
  options.rtol = scale * 1e-3;
  options.atol =
      scale * (1e-5 * largest(gradient) + 1e-6 * std::max(1.0, std::abs(pass.loss_value())));
  const Number loss = [&](const Tensor& x) {
    if (stop && stop()) throw StateError("diff", "interrupted");
    return below.loss(x);
  };
  try {
    found.gradient = compare(loss, pass[node].value.to(DType::Float64), gradient, most, options);
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
  const auto compare_inputs = [&](DType dtype, double atol, double rtol) {
    found.inputs.clear();
    for (const Flow& flow : step.flows) {
      std::vector<Var> operands = operands_of(n, dtype);
      const Tensor x = operands[flow.input].value();
      const Number result = [&](const Tensor& moved) {
        if (stop && stop()) throw StateError("diff", "interrupted");
        operands[flow.input] = moved;
        return weighted_sum(n.run(operands).value(), dy);
      };
      found.inputs.push_back(compare(result, x, flow.gradient, most,
                                     {.name = n.path, .atol = atol * unit, .rtol = rtol}));
      found.inputs.back().input = flow.input;
    }
  };
  const double scale = dy.dtype() == DType::Float64 ? 1e-2 : 1;
  try {
    compare_inputs(DType::Float64, scale * 1e-5, scale * 1e-3);
  } catch (const DTypeError&) {
    found.in_float64 = false;
    compare_inputs(DType::Float32, 2e-3, 1e-2);
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
