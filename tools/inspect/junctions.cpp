#include "tools/inspect/junctions.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"

namespace glim {
namespace {

// Nodes from `x` on that `y` was computed from, x among them or not: marks by number.
std::vector<bool> between(const Capture& c, int x, int y) {
  std::vector<bool> marks(c.nodes.size(), false);
  marks[static_cast<std::size_t>(y)] = true;
  for (int i = y; i > x; --i) {
    if (!marks[static_cast<std::size_t>(i)]) continue;
    for (int input : c[i].inputs)
      if (input >= x) marks[static_cast<std::size_t>(input)] = true;
  }
  return marks;
}

Tensor joined(const Tensor& total, const Tensor& more) {
  if (!more.defined()) return total;
  return total.defined() ? add(total, more) : more;
}

Branch branch(const std::string& name, const Tensor& flow, const Tensor& dx) {
  double whole = dot(dx, dx);
  if (!flow.defined()) return {name, 0, 0};
  return {name, norm(flow), whole > 0 ? dot(flow, dx) / whole : 0};
}

}  // namespace

std::vector<Junction> residual_junctions(const Capture& c) {
  std::vector<Junction> list;
  for (const CapturedNode& n : c.nodes) {
    if (n.op != "add" || n.inputs.size() != 2 || !n.gradient.defined()) continue;
    auto [x, f] = std::minmax({n.inputs[0], n.inputs[1]});
    if (without_step(n.scope) != n.scope) continue;  // a gate's mixture, no residual connection
    if (x < 0 || f == x || c[x].value.shape() != c[f].value.shape()) continue;
    if (!c[x].gradient.defined()) continue;  // x is frozen
    std::vector<bool> marks = between(c, x, f);
    if (!marks[static_cast<std::size_t>(x)]) continue;
    Junction j;
    j.module = n.scope.empty() ? "model" : n.scope;
    j.sublayer = c[f].scope.empty() || c[f].scope == n.scope ? "sublayer"
                                                             : c.roles.part(n.scope, c[f].scope);
    j.x = x;
    j.sum = n.number;
    const Tensor& dx = c[x].gradient;
    j.norm = norm(dx);
    Tensor skip, sub, elsewhere;
    for (int reader : c.consumers[static_cast<std::size_t>(x)]) {
      Tensor flow = c.flow(reader, x);
      bool inside = marks[static_cast<std::size_t>(reader)];
      Tensor& where = reader == n.number ? skip : inside ? sub : elsewhere;
      where = joined(where, flow);
    }
    j.branches = {branch("skip", skip, dx), branch(j.sublayer, sub, dx)};
    if (elsewhere.defined()) j.branches.push_back(branch("elsewhere", elsewhere, dx));
    list.push_back(std::move(j));
  }
  return list;
}

Junction memory_junction(const Capture& c) {
  Junction j;
  j.sublayer = "memory";
  for (const CapturedNode& n : c.nodes) {
    if (n.op == "leaf" || !c.roles.within(n.scope, Role::Encoder)) continue;
    for (int reader : c.consumers[static_cast<std::size_t>(n.number)])
      if (c.roles.within(c[reader].scope, Role::Decoder)) j.x = n.number;
  }
  if (j.x < 0 || !c[j.x].gradient.defined()) return j;
  j.module = c[j.x].scope;
  const Tensor& dx = c[j.x].gradient;
  j.norm = norm(dx);
  // By the module that attends: "decoder.layers.1.multihead_attn" is decoder.layers.1.
  std::map<std::string, Tensor> flows;
  std::vector<std::string> order;
  for (int reader : c.consumers[static_cast<std::size_t>(j.x)]) {
    std::string layer = c[reader].scope;
    if (std::size_t at = layer.rfind('.'); at != std::string::npos) layer = layer.substr(0, at);
    if (!flows.count(layer)) order.push_back(layer);
    flows[layer] = joined(flows[layer], c.flow(reader, j.x));
  }
  for (const std::string& layer : order)
    j.branches.push_back(branch(layer.empty() ? "the model" : layer, flows[layer], dx));
  return j;
}

}  // namespace glim
