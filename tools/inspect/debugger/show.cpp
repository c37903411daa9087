#include "tools/inspect/debugger/show.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "autograd/formula.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/print.hpp"
#include "tools/common/number.hpp"
#include "tools/inspect/debugger/sources.hpp"
#include "tools/measure/statistics.hpp"

namespace glim::step {
namespace {

std::string kind(const Tensor& x) {
  return to_string(x.shape()) + " " + std::string(name_of(x.dtype()));
}

}  // namespace

std::string node_line(const Pass& pass, int i) {
  const PassNode& n = pass[i];
  std::string line =
      fmt::format("#{} {}  {}  {}", i, pass[i].path, n.op, to_string(n.value.shape()));
  GradientState turn = pass.state(i);
  if (turn == GradientState::Frozen) return line + "  frozen";
  if (turn == GradientState::PassedOver) return line + "  no gradient";
  if (Tensor g = pass.gradient(i); g.defined())
    line += fmt::format("  |gradient| {}{}", four_digits(norm(g)),
                        turn == GradientState::ToCome ? " so far" : "");
  return line;
}

std::string forward_line(const Pass& pass, int i) {
  const PassNode& n = pass[i];
  if (n.is_leaf()) return "";
  std::string line = to_string(n.where);
  if (const auto lines = source_lines(n.where); !lines.empty()) {
    std::string_view code = lines[static_cast<std::size_t>(n.where.line()) - 1];
    code.remove_prefix(std::min(code.find_first_not_of(' '), code.size()));
    line.append("  ").append(code);
  }
  return "   " + line + "\n";
}

std::string tensor_text(const Tensor& x) {
  PrintOptions o;
  o.precision = 4;
  o.threshold = 100;
  o.edgeitems = x.rank() > 2 ? 2 : 3;
  o.linewidth = 100;
  return to_string(x, o);
}

std::string stats_text(const Pass& pass, int i) {
  auto row = [](const char* what, const Tensor& x) {
    Statistics t = statistics(x);
    if (t.count == t.not_finite)
      return fmt::format("  {:<9} {}: {}\n", what, kind(x),
                         t.count ? "no element is finite" : "no elements");
    return fmt::format(
        "  {:<9} norm {:<11.5g} min {:<12.5g} max {:<12.5g} mean {:<12.5g} zeros {:.1f} %{}\n",
        what, t.norm, t.low, t.high, t.mean, 100 * t.zeros,
        t.not_finite ? fmt::format("  not finite: {}", t.not_finite) : "");
  };
  std::string text = fmt::format("#{} {}  {}\n", i, pass[i].path, kind(pass[i].value));
  text += row("value", pass[i].value);
  if (Tensor g = pass.gradient(i); g.defined()) text += row("gradient", g);
  if (std::string note = gradient_note(pass, i); !note.empty())
    text += "  gradient: " + note + "\n";
  return text;
}

std::string input_name(std::string_view op, std::size_t k) {
  const Formula* f = formula(op);
  return f ? f->input_name(k) : fmt::format("input {}", k);
}

std::string formula_text(const Pass& pass, int i) {
  const PassNode& n = pass[i];
  if (n.is_leaf())
    return fmt::format("#{} {}: a leaf; its gradient is the sum of what its {} reader{} send{}\n",
                       i, pass[i].path, pass[i].readers.size(),
                       pass[i].readers.size() == 1 ? "" : "s",
                       pass[i].readers.size() == 1 ? "s" : "");
  const Formula* f = formula(n.op);
  if (!f) return fmt::format("#{} {}: {} has no formula\n", i, pass[i].path, n.op);
  std::string text = fmt::format("#{} {}  {}\n  {}\n", i, pass[i].path, n.op, f->value);
  bool each = n.inputs.size() <= f->gradients.size() && !f->gradients[n.inputs.size() - 1].empty();
  for (std::size_t k = 0; k < f->gradients.size() && !f->gradients[k].empty(); ++k) {
    text += fmt::format("  {}", f->gradients[k]);
    if (each && k < n.inputs.size())
      text += n.inputs[k] < 0 ? "      (a constant here)"
                              : fmt::format("      -> #{} {}", n.inputs[k], pass[n.inputs[k]].path);
    text += "\n";
  }
  std::string reads;
  for (int input : n.saved)
    reads += (reads.empty() ? "" : ", ") +
             (input == Op::kOutput ? "y" : f->input_name(static_cast<std::size_t>(input)));
  if (!f->source.empty()) text += fmt::format("  {}\n", f->source);
  return text + fmt::format("  reads {}\n", reads.empty() ? "nothing but dy" : reads);
}

std::string saved_text(const Pass& pass, int i) {
  const PassNode& n = pass[i];
  std::string text = fmt::format("#{} {}  {}\n", i, pass[i].path, n.op);
  if (n.is_leaf()) return text + "  a leaf saves nothing\n";
  if (n.saved.empty()) return text + "  saves neither inputs nor output\n";
  for (int input : n.saved) {
    if (input == Op::kOutput) {
      text += fmt::format("  y  {}  its output\n", kind(n.value));
      continue;
    }
    auto k = static_cast<std::size_t>(input);
    std::string name = input_name(n.op, k);
    if (!n.operands[k].defined())
      text += fmt::format("  {}  not given\n", name);
    else
      text +=
          fmt::format("  {}  {}  {}\n", name, kind(n.operands[k]),
                      n.inputs[k] < 0 ? "a constant"
                                      : fmt::format("#{} {}", n.inputs[k], pass[n.inputs[k]].path));
  }
  return text;
}

std::string where_text(const Pass& pass, int i) {
  const PassNode& n = pass[i];
  std::string text = fmt::format("#{} {}  {}  {}\n", i, pass[i].path, n.op, kind(pass[i].value));
  if (n.is_leaf())
    text += "  a leaf: a parameter of this name\n";
  else
    text += fmt::format("  in {}\n  called at\n{}", n.scope.empty() ? "no module" : n.scope,
                        forward_line(pass, i));
  int current = pass.current();
  return text + (current < 0
                     ? fmt::format("  the pass is over: {} nodes taken\n", pass.taken())
                     : fmt::format("  {} nodes taken, of {} on the tape; the pass is at #{}\n",
                                   pass.taken(), pass.size(), current));
}

std::string graph_text(const Pass& pass, int i) {
  std::string text;
  const auto& readers = pass[i].readers;
  for (auto r = readers.rbegin(); r != readers.rend(); ++r) {
    double sent = pass.sent(r->node, r->input);
    text += fmt::format("  #{} {}  {}, as {}{}\n", r->node, pass[r->node].path, pass[r->node].op,
                        input_name(pass[r->node].op, r->input),
                        sent < 0 ? "" : fmt::format("  |flow| {}", four_digits(sent)));
  }
  if (readers.empty())
    text += i == pass.loss() ? "  the loss: read by nothing\n" : "  read by nothing\n";
  text += "    ↓ dy\n";
  text += (i == pass.current() ? "=>" : "  ") + node_line(pass, i) + "\n";
  const PassNode& n = pass[i];
  if (n.is_leaf()) return text + "    a leaf: the gradient ends here\n";
  text += "    ↓\n";
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    std::string name = input_name(n.op, k);
    if (n.inputs[k] < 0) {
      text += fmt::format("  a constant, as {}\n", name);
      continue;
    }
    double sent = pass.sent(i, k);
    text += fmt::format("  #{} {}  {}, as {}{}\n", n.inputs[k], pass[n.inputs[k]].path,
                        pass[n.inputs[k]].op, name,
                        sent < 0 ? "" : fmt::format("  |flow| {}", four_digits(sent)));
  }
  return text;
}

std::string list_text(const Pass& pass, int i, int around) {
  std::string text;
  int top = std::min(pass.size() - 1, i + around), bottom = std::max(0, i - around);
  for (int k = top; k >= bottom; --k) {
    GradientState turn = pass.state(k);
    const char* mark = turn == GradientState::Now     ? "=>"
                       : turn == GradientState::Taken ? " *"
                                                      : "  ";
    text += fmt::format("{}{}{}\n", mark, k == i ? "> " : "  ", node_line(pass, k));
  }
  return text + rule_text(pass, i);
}

std::string gradient_note(const Pass& pass, int i) {
  const GradientState turn = pass.state(i);
  if (turn == GradientState::Now || turn == GradientState::Taken) return "";
  if (turn == GradientState::Frozen) return "none: frozen";
  if (turn == GradientState::PassedOver) return "none: the pass went around it";
  std::size_t come = 0;
  for (const Reader& r : pass[i].readers) come += pass.sent(r.node, r.input) >= 0;
  return fmt::format("{} of {} readers have sent their part; the pass has not reached it yet", come,
                     pass[i].readers.size());
}

}  // namespace glim::step
