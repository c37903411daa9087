#include "tools/inspect/capture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/ops/elementwise.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/measure/statistics.hpp"

namespace glim {

Tensor Capture::flow(int from, int to) const {
  Tensor total;
  for (const Flow& f : (*this)[from].flows) {
    if (f.node == to) total = total.defined() ? add(total, f.gradient) : f.gradient;
  }
  return total;
}

int Capture::find(const std::string& path) const {
  for (const CapturedNode& n : nodes)
    if (n.path == path) return n.number;
  return -1;
}

namespace {

void describe_nodes(const Tape& tape, Capture& c) {
  std::map<std::string, int> paths;
  for (std::size_t i = 0; i < tape.nodes().size(); ++i) ++paths[tape.path(static_cast<int>(i))];
  c.consumers.resize(tape.nodes().size());
  for (std::size_t i = 0; i < tape.nodes().size(); ++i) {
    const Node& node = tape.nodes()[i];
    CapturedNode n;
    n.number = static_cast<int>(i);
    n.path = tape.path(n.number);
    n.name = paths[n.path] > 1 ? n.path + "#" + std::to_string(i) : n.path;
    n.op = node.name;
    n.label = node.label;
    n.inputs = node.inputs;
    n.value = tape.value(n.number).value();
    if (node.leaf) {
      std::size_t dot = n.path.rfind('.');
      n.scope = dot == std::string::npos ? "" : n.path.substr(0, dot);
    } else {
      n.scope = *node.scope;
      n.where = to_string(node.where);
      for (const SavedValue& s : node.op->saved_values()) n.saved.push_back(s.input);
      if (is_attention(node)) n.keep = keep_of(tape, n.number);
    }
    for (int input : node.inputs) {
      if (input < 0) continue;
      auto& readers = c.consumers[static_cast<std::size_t>(input)];
      if (readers.empty() || readers.back() != n.number) readers.push_back(n.number);
    }
    c.nodes.push_back(std::move(n));
  }
}

}  // namespace

Capture capture(Example& example) {
  Capture c;
  step::Session session([&] { return example.loss(); });
  c.loss = session.tape().value(session.loss()).item();
  c.roles = Roles(example.model());
  describe_nodes(session.tape(), c);
  c.lines = derive::sheet_of(
      derive::Listing(derive::forward_of(session.tape(), session.loss()), true), {}, "", true);
  if (example.changes().any())
    c.lines.notes.push_back(
        "This pass was changed: its gradients are not only those of the equations.");
  walk_changed(session, example.changes(), [&](const WalkStep& step) {
    CapturedNode& node = c.nodes[static_cast<std::size_t>(step.node)];
    node.turn = static_cast<int>(c.walk.size());
    node.gradient = step.dy;
    node.gradient_norm = statistics(step.dy).norm;
    c.walk.push_back(step.node);
    node.flows = step.flows;
  });
  example.model().zero_grad();
  return c;
}

std::map<std::string, Tensor> tensors_of(const Capture& capture, bool leaves) {
  std::map<std::string, Tensor> all;
  for (const CapturedNode& n : capture.nodes) {
    if (leaves || n.op != "leaf") all[n.name] = n.value.contiguous();
    if (n.gradient.defined()) all[n.name + ".grad"] = n.gradient.contiguous();
  }
  return all;
}

}  // namespace glim
