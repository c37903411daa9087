// Which op is at fault: each op that the function recorded, against differences of its own forward.
//
// A wrong rule spoils the gradient of all that comes before it, and what reaches a parameter looks like another
// mistake. At its own inputs and outputs it looks like what it is.
#include <algorithm>

#include "autograd/gradcheck/mistakes.hpp"
#include "autograd/observer.hpp"
#include "autograd/tape.hpp"

namespace glim::detail {
namespace {

// Where a Jacobian is not larger, a failure is worth computing all of it.
constexpr Index kWholeJacobian = Index{1} << 16;

// The op of a node as a function of its operands. Operands that have a gradient are checked.
Subject op_of(const Node& node, const Replay& replay) {
  Subject op;
  std::vector<Var> operands;
  for (std::size_t k = 0; k < replay.operands.size(); ++k) {
    operands.push_back(replay.operands[k]);
    if (!operands[k].defined()) continue;
    operands[k] = Var::leaf(operands[k].value());
    operands[k].leaf().trainable = node.inputs[k] >= 0 && is_floating(operands[k].dtype());
    op.add(node.formula->input_name(k), operands[k]);
  }
  op.run = [&replay, operands](bool) { return floating_only({replay.run(operands)}); };
  return op;
}

// Names the mistakes that a check in Full mode has found.
void name_mistakes(const Subject& f, Checked& found) {
  const Analytic& a = found.analytic;
  const GradcheckOptions& o = found.report.options;
  const bool one_output = a.output_shapes.size() == 1;
  JacobianPairs all{{}, one_output ? a.output_shapes[0] : Shape{std::ssize(a.y)}, a.y};
  bool float32 = false;
  for (const GradcheckEntry& e : found.report.inputs) {
    const std::vector<double>&rows = a.rows[e.input], &numeric = found.numeric[e.input];
    float32 |= e.dtype == DType::Float32;
    all.inputs.push_back({e.name, e.shape, flatten({f.values[e.input]}), rows, numeric});
    // Is backward's Jᵀu that of its rows?
    const std::vector<double>& along_u = a.along_u[e.input];
    std::vector<double> sum(along_u.size()), allowed = sum;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const double u = a.u[k / sum.size()];
      sum[k % sum.size()] += u * rows[k];
      allowed[k % sum.size()] += std::abs(u) * (o.atol + o.rtol * std::abs(numeric[k]));
    }
    for (std::size_t j = 0; j < sum.size(); ++j)
      all.inputs.back().linear &=
          std::abs(along_u[j] - sum[j]) <= allowed[j] + 1e-5 * std::abs(sum[j]);
  }
  // A derivative that no difference decides fits no name.
  for (std::size_t i = 0; i < all.inputs.size(); ++i)
    if (GradcheckEntry& e = found.report.inputs[i]; e.failed && !e.undecidable)
      e.mistake = likely_mistake(all, i, float32 ? 1e-2 : 1e-5);
}

// Checks each op of f, and reports those that are wrong, each once. Returns how many nodes are wrong.
Index check_ops(const Subject& f, GradcheckReport& report) {
  Index wrong = 0;
  Restored same_random(generator());
  Tape tape({.replay = true});
  f.put(f.values);
  f.run(true);
  for (std::size_t i = 0; i < tape.nodes().size(); ++i) {
    const Node& node = tape.nodes()[i];
    if (node.leaf) continue;
    const Replay& replay = tape.replay(static_cast<int>(i));
    if (!replay.run) continue;
    const Subject op = op_of(node, replay);
    GradcheckOptions options{.second_order = report.options.second_order,
                             .precise = report.options.precise,
                             .seed = report.options.seed};
    Index elements = 0;
    for (const Tensor& x : op.values) elements += x.numel();
    if (elements * numel_of(node.shape) > kWholeJacobian)
      options.mode = GradcheckOptions::Mode::Projection;
    const std::string name = std::string(node.name()) + " at ";
    options.name = name + to_string(node.where) + " (" + tape.path(static_cast<int>(i)) + ")";
    const Subject subject = options.second_order ? gradient_of(op, options.seed) : op;
    Checked one = check(subject, options);
    if (one.report.failed() == 0 && one.report.problem.empty()) {
      ++report.ops_right;
      continue;
    }
    ++wrong;
    if (options.mode == GradcheckOptions::Mode::Full) name_mistakes(subject, one);
    if (std::none_of(report.ops_at_fault.begin(), report.ops_at_fault.end(),
                     [&](const GradcheckReport& r) { return r.function.starts_with(name); }))
      report.ops_at_fault.push_back(std::move(one.report));
  }
  return wrong;
}

}  // namespace

void explain(const Subject& f, const Subject& checked, Checked& found) {
  GradcheckReport& report = found.report;
  const bool by_op = report.options.explain == GradcheckOptions::Explain::Ops;
  const Index wrong = by_op ? check_ops(f, report) : 0;
  // The Jacobian of many ops does not show which rule is wrong. If all rules are right, it shows whether any
  // gradient arrives.
  const bool one_op = !by_op || wrong + report.ops_right == 1;
  if (!one_op && !report.ops_at_fault.empty()) return;
  if (report.options.mode == GradcheckOptions::Mode::Full) {
    name_mistakes(checked, found);
  } else {
    Index elements = 0;
    for (const GradcheckEntry& e : report.inputs) elements += numel_of(e.shape);
    if (elements * std::ssize(found.analytic.y) > kWholeJacobian) return;
    GradcheckOptions full = report.options;
    full.mode = GradcheckOptions::Mode::Full;
    Checked whole = check(checked, full);
    name_mistakes(checked, whole);
    for (std::size_t i = 0; i < whole.report.inputs.size(); ++i)
      if (report.inputs[i].failed) report.inputs[i].mistake = whole.report.inputs[i].mistake;
  }
  for (GradcheckEntry& e : report.inputs)
    if (!one_op && !e.mistake.name.starts_with("no gradient")) e.mistake = {};
}

}  // namespace glim::detail
