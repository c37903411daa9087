#include "tools/inspect/debugger/show.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "autograd/formula.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/print.hpp"
#include "tools/inspect/debugger/sources.hpp"
#include "tools/measure/statistics.hpp"

namespace glim::step {
namespace {

std::string kind(const Tensor& x) {
  return to_string(x.shape()) + " " + std::string(name_of(x.dtype()));
}

}  // namespace

std::string node_line(const Session& s, int i) {
  const Node& n = s.node(i);
  std::string line = fmt::format("#{} {}  {}  {}", i, s.tape().path(i), n.name, to_string(n.shape));
  GradientState turn = s.turn(i);
  if (turn == GradientState::Frozen) return line + "  frozen";
  if (turn == GradientState::PassedOver) return line + "  no gradient";
  if (Tensor g = s.gradient(i); g.defined())
    line += fmt::format("  |gradient| {:.4g}{}", norm(g),
                        turn == GradientState::ToCome ? " so far" : "");
  return line;
}

std::string forward_line(const Session& s, int i) {
  const Node& n = s.node(i);
  if (n.leaf) return "";
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

std::string stats_text(const Session& s, int i) {
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
  std::string text =
      fmt::format("#{} {}  {}\n", i, s.tape().path(i), kind(s.tape().value(i).value()));
  text += row("value", s.tape().value(i).value());
  if (Tensor g = s.gradient(i); g.defined()) text += row("gradient", g);
  if (std::string note = gradient_note(s, i); !note.empty()) text += "  gradient: " + note + "\n";
  return text;
}

std::string input_name(std::string_view op, std::size_t k) {
  const Formula* f = formula(op);
  return f ? f->input_name(k) : fmt::format("input {}", k);
}

std::string formula_text(const Session& s, int i) {
  const Node& n = s.node(i);
  if (n.leaf)
    return fmt::format("#{} {}: a leaf; its gradient is the sum of what its {} reader{} send{}\n",
                       i, s.tape().path(i), s.readers(i).size(),
                       s.readers(i).size() == 1 ? "" : "s", s.readers(i).size() == 1 ? "s" : "");
  const Formula* f = formula(n.name);
  if (!f) return fmt::format("#{} {}: {} has no formula\n", i, s.tape().path(i), n.name);
  std::string text = fmt::format("#{} {}  {}\n  {}\n", i, s.tape().path(i), n.name, f->value);
  bool each = n.inputs.size() <= f->gradients.size() && !f->gradients[n.inputs.size() - 1].empty();
  for (std::size_t k = 0; k < f->gradients.size() && !f->gradients[k].empty(); ++k) {
    text += fmt::format("  {}", f->gradients[k]);
    if (each && k < n.inputs.size())
      text += n.inputs[k] < 0
                  ? "      (a constant here)"
                  : fmt::format("      -> #{} {}", n.inputs[k], s.tape().path(n.inputs[k]));
    text += "\n";
  }
  std::string reads;
  if (n.op)
    for (const SavedValue& v : n.op->saved_values())
      reads += (reads.empty() ? "" : ", ") +
               (v.input == Op::kOutput ? "y" : f->input_name(static_cast<std::size_t>(v.input)));
  if (!f->source.empty()) text += fmt::format("  {}\n", f->source);
  return text + fmt::format("  reads {}\n", reads.empty() ? "nothing but dy" : reads);
}

std::string saved_text(const Session& s, int i) {
  const Node& n = s.node(i);
  std::string text = fmt::format("#{} {}  {}\n", i, s.tape().path(i), n.name);
  if (n.leaf) return text + "  a leaf saves nothing\n";
  if (!n.op) return text + "  freed\n";
  if (n.op->saved_values().empty()) return text + "  saves neither inputs nor output\n";
  for (const auto& [input, v, version, fingerprint] : n.op->saved_values()) {
    if (input == Op::kOutput) {
      text += fmt::format("  y  {}  its output\n", kind(v.value()));
      continue;
    }
    auto k = static_cast<std::size_t>(input);
    std::string name = input_name(n.name, k);
    if (!v.defined())
      text += fmt::format("  {}  not given\n", name);
    else
      text += fmt::format("  {}  {}  {}\n", name, kind(v.value()),
                          n.inputs[k] < 0
                              ? "a constant"
                              : fmt::format("#{} {}", n.inputs[k], s.tape().path(n.inputs[k])));
  }
  return text;
}

std::string where_text(const Session& s, int i) {
  const Node& n = s.node(i);
  std::string scope = n.scope ? *n.scope : "";
  std::string text =
      fmt::format("#{} {}  {}  {}\n", i, s.tape().path(i), n.name, kind(s.tape().value(i).value()));
  if (n.leaf)
    text += "  a leaf: a parameter of this name\n";
  else
    text += fmt::format("  in {}\n  called at\n{}", scope.empty() ? "no module" : scope,
                        forward_line(s, i));
  int current = s.current();
  return text + (current < 0
                     ? fmt::format("  the pass is over: {} nodes taken\n", s.taken())
                     : fmt::format("  {} nodes taken, of {} on the tape; the pass is at #{}\n",
                                   s.taken(), s.size(), current));
}

std::string graph_text(const Session& s, int i) {
  std::string text;
  const auto& readers = s.readers(i);
  for (auto r = readers.rbegin(); r != readers.rend(); ++r) {
    double sent = s.sent(r->node, r->input);
    text += fmt::format("  #{} {}  {}, as {}{}\n", r->node, s.tape().path(r->node),
                        s.node(r->node).name, input_name(s.node(r->node).name, r->input),
                        sent < 0 ? "" : fmt::format("  |flow| {:.4g}", sent));
  }
  if (readers.empty())
    text += i == s.loss() ? "  the loss: read by nothing\n" : "  read by nothing\n";
  text += "    ↓ dy\n";
  text += (i == s.current() ? "=>" : "  ") + node_line(s, i) + "\n";
  const Node& n = s.node(i);
  if (n.leaf) return text + "    a leaf: the gradient ends here\n";
  text += "    ↓\n";
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    std::string name = input_name(n.name, k);
    if (n.inputs[k] < 0) {
      text += fmt::format("  a constant, as {}\n", name);
      continue;
    }
    double sent = s.sent(i, k);
    text += fmt::format("  #{} {}  {}, as {}{}\n", n.inputs[k], s.tape().path(n.inputs[k]),
                        s.node(n.inputs[k]).name, name,
                        sent < 0 ? "" : fmt::format("  |flow| {:.4g}", sent));
  }
  return text;
}

std::string list_text(const Session& s, int i, int around) {
  std::string text;
  int top = std::min(s.size() - 1, i + around), bottom = std::max(0, i - around);
  for (int k = top; k >= bottom; --k) {
    GradientState turn = s.turn(k);
    const char* mark = turn == GradientState::Now     ? "=>"
                       : turn == GradientState::Taken ? " *"
                                                      : "  ";
    text += fmt::format("{}{}{}\n", mark, k == i ? "> " : "  ", node_line(s, k));
  }
  return text + rule_text(s, i);
}

std::string gradient_note(const Session& s, int i) {
  const GradientState turn = s.turn(i);
  if (turn == GradientState::Now || turn == GradientState::Taken) return "";
  if (turn == GradientState::Frozen) return "none: frozen";
  if (turn == GradientState::PassedOver) return "none: the pass went around it";
  std::size_t come = 0;
  for (const Reader& r : s.readers(i)) come += s.sent(r.node, r.input) >= 0;
  return fmt::format("{} of {} readers have sent their part; the pass has not reached it yet", come,
                     s.readers(i).size());
}

}  // namespace glim::step
