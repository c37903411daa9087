#include "tools/measure/patching.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/measure/attention_statistics.hpp"
#include "tools/pass/node_names.hpp"

namespace glim {
namespace {

// x with element `index` of an axis as in `other`.
Tensor replaced(const Tensor& x, int axis, Index index, const Tensor& other) {
  Tensor y = x.clone();
  narrow(y, axis, index, 1).copy_(narrow(other, axis, index, 1));
  return y;
}

// x with the elements of `other` where both have some.
Tensor replaced(const Tensor& x, const Tensor& other) {
  Tensor y = x.clone(), target = y, source = other;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Index common = std::min(x.size(axis), other.size(axis));
    source = narrow(source, axis, 0, common);
    target = narrow(target, axis, 0, common);
  }
  target.copy_(source);
  return y;
}

}  // namespace

bool PatchEffect::misleads() const { return !(std::abs(second) <= std::abs(linear) / 2); }

Var loss_with(const Pass& pass, int node, const Var& value) {
  std::map<int, Var> values{{node, value}};
  for (int i = node + 1; i <= pass.loss(); ++i) {
    const PassNode& n = pass[i];
    if (std::ranges::none_of(n.inputs, [&](int input) { return values.contains(input); })) continue;
    if (!n.run) throw StateError("patch", n.name + " was recomputed: record the pass without");
    std::vector<Var> operands;
    for (std::size_t k = 0; k < n.operands.size(); ++k)
      operands.push_back(values.contains(n.inputs[k]) ? values.at(n.inputs[k])
                         : n.operands[k].defined()    ? Var(n.operands[k])
                                                      : Var());
    values[i] = n.run(operands);
  }
  const Var loss =
      values.contains(pass.loss()) ? values.at(pass.loss()) : Var(pass[pass.loss()].value);
  return pass.dy().defined() ? sum(loss * Var(pass.dy())) : sum(loss);
}

std::vector<PatchEffect> patch_effects(const Pass& pass, int node,
                                       const std::vector<Tensor>& values) {
  const Tensor& x = pass[node].value;
  std::vector<PatchEffect> effects;
  for (const Tensor& value : values) {
    NoGrad unrecorded;
    effects.push_back({loss_with(pass, node, Var(value)).item() - pass.loss_value(), 0, 0});
  }
  Tape tape;
  const Var leaf = Var::leaf(x, "x"), loss = loss_with(pass, node, leaf);
  if (tape.node_of(loss) < 0) return effects;
  const Var gradient = tape.grad(loss, {leaf}, {}, {.create_graph = true})[0];
  const bool curved = tape.node_of(gradient) >= 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Tensor d = sub(values[k], x);
    effects[k].linear = dot(gradient.value(), d);
    if (curved)
      effects[k].second =
          dot(tape.grad(gradient, {leaf}, Var(d), {.retain = true})[0].value(), d) / 2;
  }
  return effects;
}

int context_of(const Pass& pass, int probs) {
  for (const Reader& r : pass[probs].readers) {
    if (pass[r.node].op == "dropout") return context_of(pass, r.node);
    if (pass[r.node].op == "matmul" && r.input == 0) return r.node;
  }
  return -1;
}

std::vector<PatchEffect> without_heads(const Pass& pass, int probs) {
  const int context = context_of(pass, probs);
  if (context < 0) return {};
  const Tensor &x = pass[context].value, none = zeros(x.shape(), x.dtype());
  std::vector<Tensor> values;
  if (x.rank() < 4) values.push_back(none);
  for (Index h = 0; x.rank() == 4 && h < x.size(1); ++h) values.push_back(replaced(x, 1, h, none));
  return patch_effects(pass, context, values);
}

PatchTable patched_from(const Pass& pass, const Pass& other,
                        const std::vector<std::string>& names) {
  PatchTable table;
  table.loss = pass.loss_value();
  std::vector<int> nodes;
  for (const std::string& name : names)
    for (int node : nodes_named(pass, name))
      if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  std::ranges::sort(nodes);
  for (int node : nodes) {
    const PassNode& n = pass[node];
    if (node >= other.size() || other[node].path != n.path ||
        other[node].value.rank() != n.value.rank())
      throw ValueError("patch", n.name + " is no node of the other pass");
    if (n.value.rank() < 2 || n.is_leaf() || !is_floating(n.value.dtype()))
      throw ValueError("patch", n.name + " has no positions: it is the same in every sentence");
    const int axis = n.value.rank() - 2;
    const Index length = n.value.size(axis), other_length = other[node].value.size(axis);
    const Index common = std::min(length, other_length);
    const Tensor whole = replaced(n.value, other[node].value);
    std::vector<Tensor> values;
    const bool by_head = n.value.rank() == 4;
    const Index heads = by_head ? n.value.size(1) : 1;
    for (Index h = 0; h < heads; ++h) {
      const Tensor patched = by_head ? replaced(n.value, 1, h, whole) : whole;
      values.push_back(patched);
      for (Index p = 0; p < common; ++p) values.push_back(replaced(n.value, axis, p, patched));
    }
    const std::vector<PatchEffect> effects = patch_effects(pass, node, values);
    for (Index h = 0; h < heads; ++h) {
      const auto first = effects.begin() + h * (common + 1);
      table.rows.push_back({by_head ? fmt::format("{}:{}", n.name, h) : n.name,
                            length,
                            other_length,
                            *first,
                            {first + 1, first + 1 + common}});
    }
  }
  return table;
}

nlohmann::json in_json(const PatchEffect& e) {
  return {
      {"change", e.change}, {"linear", e.linear}, {"second", e.second}, {"misleads", e.misleads()}};
}

nlohmann::json in_json(const PatchTable& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PatchRow& r : table.rows) {
    rows.push_back(in_json(r.all));
    rows.back().update({{"node", r.node}, {"length", r.length}, {"other_length", r.other_length}});
    rows.back()["positions"] = nlohmann::json::array();
    for (const PatchEffect& e : r.positions) rows.back()["positions"].push_back(in_json(e));
  }
  return {{"loss", table.loss}, {"rows", rows}};
}

std::string patch_text(const PatchTable& table, const std::vector<std::string>& tokens) {
  std::string text = fmt::format("loss {:.4f}", table.loss);
  text += fmt::format("\n  {:>9} {:>9} {:>9}   {:<24}  node\n", "change", "linear", "2nd order",
                      "most at one position");
  std::size_t misleading = 0;
  for (const PatchRow& r : table.rows) {
    const auto most = std::max_element(r.positions.begin(), r.positions.end(),
                                       [](const PatchEffect& a, const PatchEffect& b) {
                                         return std::abs(a.change) < std::abs(b.change);
                                       });
    const auto position = static_cast<std::size_t>(most - r.positions.begin());
    std::string strongest =
        most == r.positions.end() ? "" : fmt::format("{:+.4f} at {}", most->change, position);
    if (position < tokens.size()) strongest += " '" + tokens[position] + "'";
    misleading += r.all.misleads();
    text +=
        fmt::format("  {:+9.4f} {:+9.4f} {:+9.4f} {} {:<24}  {}", r.all.change, r.all.linear,
                    r.all.linear + r.all.second, r.all.misleads() ? "!" : " ", strongest, r.node);
    text += r.length == r.other_length
                ? "\n"
                : fmt::format(", the first {} positions: {} here, {} in the other sentence\n",
                              r.positions.size(), r.length, r.other_length);
  }
  return text +
         (misleading == 0
              ? ""
              : "  ! the second-order term is over half of the linear estimate, which misleads\n");
}

}  // namespace glim
