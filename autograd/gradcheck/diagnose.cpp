// Which op is at fault: each op that the function recorded, against differences of its own forward.
//
// A wrong rule spoils the gradient of all that comes before it, and what reaches a parameter looks like another
// mistake. At its own inputs and outputs it looks like what it is.
#include <algorithm>

#include "autograd/gradcheck/numeric.hpp"
#include "autograd/tape.hpp"

namespace glim::detail {
namespace {

// The op of a node as a function of its operands. Operands that have a gradient are checked.
Subject op_of(const Node& node, const Replay& replay) {
  Subject op;
  std::vector<std::size_t> defined;
  for (std::size_t k = 0; k < replay.operands.size(); ++k) {
    const Var& x = replay.operands[k];
    if (!x.defined()) continue;
    defined.push_back(k);
    op.names.push_back(node.formula->input_name(k));
    op.values.push_back(x.value());
    op.checked.push_back(node.inputs[k] >= 0 && is_floating(x.dtype()));
  }
  op.run = [&replay, defined, checked = op.checked](const std::vector<Tensor>& at,
                                                    std::vector<Var>& xs, bool) {
    xs.clear();
    std::vector<Var> operands(replay.operands.size());
    for (std::size_t k = 0; k < at.size(); ++k) {
      xs.push_back(checked[k] ? Var::leaf(at[k]) : Var(at[k]));
      operands[defined[k]] = xs.back();
    }
    return floating_only({replay.run(operands)});
  };
  return op;
}

}  // namespace

void diagnose(const Subject& subject, const Subject& checked, GradcheckReport& report) {
  SameRandom same;
  Tape tape({.replay = true});
  std::vector<Var> xs;
  subject.run(subject.values, xs, true);
  for (std::size_t i = 0; i < tape.nodes().size(); ++i) {
    const Node& node = tape.nodes()[i];
    if (node.leaf) continue;
    const Replay& replay = tape.replay(static_cast<int>(i));
    if (!replay.run) continue;
    const Subject op = op_of(node, replay);
    GradcheckOptions options;
    options.precise = report.options.precise;
    options.second_order = report.options.second_order;
    options.seed = report.options.seed;
    Index elements = 0;
    for (const Tensor& x : op.values) elements += x.numel();
    if (elements * numel_of(node.shape) > kWholeJacobian)
      options.mode = GradcheckOptions::Mode::Projection;
    options.name = std::string(node.name) + " at " + to_string(node.where) + " (" +
                   tape.path(static_cast<int>(i)) + ")";
    GradcheckReport one =
        compare(options.second_order ? gradient_of(op, options.seed) : op, options);
    if (one.failed() == 0 && one.problem.empty()) {
      ++report.ops_right;
      continue;
    }
    const std::string named = std::string(node.name) + " at ";
    if (std::none_of(report.ops_at_fault.begin(), report.ops_at_fault.end(),
                     [&](const GradcheckReport& r) { return r.function.starts_with(named); }))
      report.ops_at_fault.push_back(std::move(one));
  }
  // The Jacobian of many ops does not show which rule is wrong. If all rules are right, it shows whether any
  // gradient arrives.
  const bool one_op = report.ops_at_fault.size() + static_cast<std::size_t>(report.ops_right) == 1;
  GradcheckReport whole = report;
  const bool named = one_op || report.ops_at_fault.empty();
  if (named && report.options.mode == GradcheckOptions::Mode::Projection) {
    Index columns = 0;
    const Index rows = std::ssize(Point(checked, false).evaluate());
    for (const GradcheckEntry& e : report.inputs) columns += numel_of(e.shape);
    GradcheckOptions full = report.options;
    full.mode = GradcheckOptions::Mode::Full;
    if (columns * rows <= kWholeJacobian) whole = compare(checked, full);
  }
  for (std::size_t i = 0; i < report.inputs.size(); ++i) {
    GradcheckEntry& e = report.inputs[i];
    const Mistake found =
        e.failed && named && i < whole.inputs.size() ? whole.inputs[i].mistake : Mistake{};
    e.mistake = one_op || found.name.starts_with("no gradient") ? found : Mistake{};
  }
}

}  // namespace glim::detail
