#include "tools/inspect/junctions.hpp"

#include <algorithm>
#include <map>

#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"

namespace glim {
namespace {

// Nodes from `x` on that `y` was computed from, x among them or not: marks by number.
std::vector<bool> between(const Pass& pass, int x, int y) {
  std::vector<bool> marks(static_cast<std::size_t>(pass.size()), false);
  marks[static_cast<std::size_t>(y)] = true;
  for (int i = y; i > x; --i) {
    if (!marks[static_cast<std::size_t>(i)]) continue;
    for (int input : pass[i].inputs)
      if (input >= x) marks[static_cast<std::size_t>(input)] = true;
  }
  return marks;
}

// The flows into j.x, those of readers of one name together. The first names are there in any case.
template <class NameOf>
void split_gradient(const Pass& pass, Junction& j, std::vector<std::string> names,
                    const NameOf& name_of) {
  const Tensor& dx = pass[j.x].gradient;
  const double whole = dot(dx, dx);
  j.norm = norm(dx);
  std::map<std::string, Tensor> flows;
  for (int reader : pass.consumers(j.x)) {
    const Tensor flow = pass.flow(reader, j.x);
    if (!flow.defined()) continue;
    const std::string name = name_of(reader);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    Tensor& total = flows[name];
    total = total.defined() ? add(total, flow) : flow;
  }
  for (const std::string& name : names) {
    const Tensor& flow = flows[name];
    if (flow.defined())
      j.branches.push_back({name, norm(flow), whole > 0 ? dot(flow, dx) / whole : 0});
    else
      j.branches.push_back({name, 0, 0});
  }
}

}  // namespace

std::vector<Junction> residual_junctions(const Pass& pass) {
  std::vector<Junction> list;
  for (const PassNode& n : pass.nodes()) {
    if (n.op != "add" || n.inputs.size() != 2 || !n.gradient.defined()) continue;
    auto [x, f] = std::minmax({n.inputs[0], n.inputs[1]});
    if (without_step(n.scope) != n.scope) continue;  // a gate's mixture, no residual connection
    if (x < 0 || f == x || pass[x].value.shape() != pass[f].value.shape()) continue;
    if (!pass[x].gradient.defined()) continue;  // x is frozen
    std::vector<bool> marks = between(pass, x, f);
    if (!marks[static_cast<std::size_t>(x)]) continue;
    Junction j;
    j.module = n.scope.empty() ? "model" : n.scope;
    j.sublayer = pass[f].scope.empty() || pass[f].scope == n.scope
                     ? "sublayer"
                     : pass.roles().part(n.scope, pass[f].scope);
    j.x = x;
    j.sum = n.number;
    split_gradient(pass, j, {"skip", j.sublayer}, [&](int reader) {
      const bool inside = marks[static_cast<std::size_t>(reader)];
      return reader == n.number ? "skip" : inside ? j.sublayer : "elsewhere";
    });
    list.push_back(std::move(j));
  }
  return list;
}

Junction memory_junction(const Pass& pass) {
  Junction j;
  j.sublayer = "memory";
  for (const PassNode& n : pass.nodes()) {
    if (n.op == "leaf" || !pass.roles().within(n.scope, Role::Encoder)) continue;
    for (int reader : pass.consumers(n.number))
      if (pass.roles().within(pass[reader].scope, Role::Decoder)) j.x = n.number;
  }
  if (j.x < 0 || !pass[j.x].gradient.defined()) return j;
  j.module = pass[j.x].scope;
  // By the module that attends: "decoder.layers.1.multihead_attn" is decoder.layers.1.
  split_gradient(pass, j, {}, [&](int reader) {
    const std::string& scope = pass[reader].scope;
    const std::string layer = scope.substr(0, scope.rfind('.'));
    return layer.empty() ? "the model" : layer;
  });
  return j;
}

}  // namespace glim
