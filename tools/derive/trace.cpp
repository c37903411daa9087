#include "tools/derive/trace.hpp"

#include <algorithm>

#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/common/ascii.hpp"

namespace glim::derive {
namespace {

bool uniform(const Tensor& x) {
  if (!is_floating(x.dtype()) || x.numel() == 0) return false;
  for (int i = 0; i < x.rank(); ++i)
    if (x.strides()[i] != 0 && x.shape()[i] > 1) {
      const Tensor first =
          broadcast_to(Tensor::from_storage(x.storage(), x.offset(), {}, {}, x.dtype()), x.shape());
      return same_bits(x.contiguous(), first.contiguous());
    }
  return true;
}

// "encoder.layers.0." of "encoder.layers.0.scores".
std::string module_of(const std::string& path) { return path.substr(0, path.rfind('.') + 1); }

// The path, within its module, of a value of a recorded first backward: "d(M.scores).scale" becomes "M.d(scores)_scale"
// if M is no layer. A value with a name of its own becomes "M.dscores".
std::string path_in_module(const std::string& path, const std::string& label) {
  const std::size_t end = path.find(')');
  const std::string value = path.substr(2, end - 2), module = module_of(value);
  if (!label.empty()) return module + label;
  if (std::ranges::any_of(module, is_digit)) return path;
  return module + "d(" + value.substr(module.size()) + ")_" + path.substr(end + 2);
}

// Reads what the engine does: whose rule runs, what it sends, where a sum is complete.
class Builder final : public Observer {
 public:
  Builder(const Pass& pass, const NamedConstants& names) : pass_(pass), names_(names) {}

  Trace forward() {
    for (const PassNode& n : pass_.nodes()) take(n);
    trace_.loss = value_of_node(pass_.loss());
    trace_.of_node = values_;
    return std::move(trace_);
  }

  // Without `dy` the gradient of the loss is 1.
  Trace both() {
    trace_ = forward();
    Tape& tape = pass_.tape();
    const Var loss = tape.value(pass_.loss());
    const Tensor& dy = pass_.dy();
    std::vector<Var> leaves;
    for (const PassNode& n : pass_.nodes())
      if (n.is_leaf()) leaves.push_back(tape.value(n.number));
    forward_ = pass_.size();
    // A leaf of value 1 above the loss: whatever backward computes depends on it, and is recorded.
    const Var one = Var::leaf(dy.defined() ? dy : ones(loss.shape(), loss.dtype()));
    const Var top = loss * one;
    if (dy.defined()) {
      Value upstream;
      upstream.op = "leaf";
      upstream.path = "dy";
      upstream.value = dy;
      dy_ = add(std::move(upstream));
    }
    one_ = tape.node_of(one);
    top_ = tape.node_of(top);
    values_.resize(tape.nodes().size(), -1);
    tape.observe(*this);
    tape.grad(top, leaves, ones(top.shape(), top.dtype()), {.create_graph = true});
    return std::move(trace_);
  }

  void rule_begins(int node) override { rule_ = last_rule_ = node; }
  void rule_ended(int) override { rule_ = -1; }
  void flow(const Flow& f) override { target_ = f.node; }
  void recorded(int node, const Tensor&) override {
    if (forward_ >= 0) pending_.push_back({node, rule_, rule_ < 0 ? target_ : -1, last_rule_});
  }
  void arrived(int node, const Var& dy) override {
    take_pending();
    if (node >= forward_) return;
    const int g = dy.defined() ? node_or_constant(pass_.tape().node_of(dy), dy.value(),
                                                  pass_[node].path, "dy")
                               : -1;
    const int value = value_of_node(node);
    trace_.gradients[value] = g;
    if (g >= 0) trace_.values[static_cast<std::size_t>(g)].batch = trace_[value].batch;
  }

 private:
  struct Pending {
    int node, rule, target, last_rule;
  };
  // A node is complete only after recorded().
  void take_pending() {
    const std::vector<Pending> all = std::exchange(pending_, {});
    for (const Pending& p : all) {
      const int rule = p.rule >= 0 ? p.rule : p.target;
      take(read_node(pass_.tape(), p.node), rule, p.last_rule);
    }
  }

  int value_of_node(int node) const { return values_[static_cast<std::size_t>(node)]; }

  int add(Value v) {
    auto of_batch = [&](int x) { return x >= 0 && trace_[x].batch; };
    const bool reduced = std::ranges::any_of(v.arguments, [](const Argument& a) {
      return a.name == "axes" && std::ranges::find(a.dims, 0) != a.dims.end();
    });
    auto of_tensor = [&](const auto& t) { return of_batch(t.second); };
    const bool of_example = v.op == "leaf" && v.path.find('.') == std::string::npos;
    if (v.op == "constant" || of_example)
      v.batch = v.shape().rank() > 0 && v.shape()[0] == 1 && v.value.strides()[0] != 0;
    else if (v.op == "permute" || !reduced)
      v.batch =
          std::ranges::any_of(v.inputs, of_batch) || std::ranges::any_of(v.tensors, of_tensor);
    trace_.values.push_back(std::move(v));
    return static_cast<int>(trace_.values.size()) - 1;
  }

  // The value of a node, or of the constant x (-1) that the op at `reader` reads.
  int node_or_constant(int node, const Tensor& x, const std::string& reader, std::string_view role,
                       int rule = -1, const std::vector<int>& operands = {}) {
    if (!x.defined()) return -1;
    if (node == one_ && one_ >= 0) return dy_ >= 0 ? dy_ : constant(x, reader, role, rule);
    return node >= 0 ? value_of_node(node) : constant(x, reader, role, rule, operands);
  }

  // A tensor computed from values, not Vars: y > 0 is an op of its own here, of a constant, of what a rule reads, or
  // of another operand, as x in where(x > 0, x, y).
  int recognised(const Tensor& x, const std::string& reader, int rule,
                 const std::vector<int>& operands) {
    std::vector<int> candidates = constants_;
    candidates.insert(candidates.end(), operands.begin(), operands.end());
    const int y = rule < 0 ? -1 : value_of_node(rule);
    if (y >= 0) {
      for (const auto& [name, t] : trace_[y].tensors)
        if (t >= 0 && same_bits(trace_[t].value.contiguous(), x.contiguous())) return t;
      candidates = trace_[y].inputs;
      candidates.insert(candidates.begin(), y);
      candidates.insert(candidates.end(), constants_.begin(), constants_.end());
    }
    for (int c : candidates) {
      if (c < 0 || trace_[c].shape() != x.shape() || !is_floating(trace_[c].value.dtype()))
        continue;
      const Tensor& v = trace_[c].value;
      const std::pair<const char*, Tensor> known[] = {{"is_positive", greater(v, 0)},
                                                      {"is_negative", less(v, 0)},
                                                      {"is_zero", equal(v, 0)},
                                                      {"sign", sign(v)}};
      for (const auto& [op, is] : known)
        if (is.dtype() == x.dtype() && same_bits(is.contiguous(), x.contiguous())) {
          Value r;
          r.op = op;
          r.path = (y < 0 ? reader : trace_[y].path) + "." + op;
          r.inputs = {c};
          r.value = x;
          r.backward = y >= 0;
          r.source = r.during = y;
          return add(std::move(r));
        }
    }
    return -1;
  }

  int constant(const Tensor& x, const std::string& reader, std::string_view role, int rule = -1,
               const std::vector<int>& operands = {}) {
    if (!x.defined()) return -1;
    const auto name = std::ranges::find_if(
        names_, [&](const auto& named) { return named.first.storage() == x.storage(); });
    const bool named = name != names_.end();
    Value v;
    v.value = x;
    if (!named && uniform(x)) {
      v.op = "number";
      return add(std::move(v));
    }
    for (int k : constants_)
      if (trace_[k].value.dtype() == x.dtype() && trace_[k].shape() == x.shape() &&
          same_bits(trace_[k].value.contiguous(), x.contiguous()))
        return k;
    if (!named)
      if (const int known = recognised(x, reader, rule, operands); known >= 0) return known;
    v.op = "constant";
    v.path = module_of(reader) + std::string(role);
    if (named) v.path = name->second;
    for (std::size_t i; (i = v.path.find("d(")) != std::string::npos;) v.path.erase(i, 2);
    std::erase(v.path, ')');
    if (const int n = ++paths_[v.path]; n > 1) v.path += "_" + std::to_string(n);
    constants_.push_back(add(std::move(v)));
    return constants_.back();
  }

  // The values that the rule of PATH reads, for an op "d(PATH).op" of a recorded first backward. A mask is computed from
  // them, so it is no data of the program.
  std::vector<int> read_by_first_backward(const std::string& path) const {
    std::vector<int> values;
    if (forward_ >= 0 || !path.starts_with("d(")) return values;
    const std::string rule = path.substr(2, path.find(')') - 2);
    for (const PassNode& n : pass_.nodes())
      if (n.path == rule && static_cast<std::size_t>(n.number) < values_.size()) {
        values.push_back(value_of_node(n.number));
        for (int x : n.inputs)
          if (x >= 0) values.push_back(value_of_node(x));
      }
    return values;
  }

  // A node as a value; `rule` and `last` are nodes.
  void take(const PassNode& n, int rule = -1, int last = -1) {
    const auto i = static_cast<std::size_t>(n.number);
    if (i >= values_.size()) values_.resize(i + 1, -1);
    Value v;
    static_cast<Computed&>(v) = n;
    v.inputs.clear();
    v.arguments.clear();
    v.node = n.number;
    if (n.is_leaf()) {
      values_[i] = add(std::move(v));
      trace_.parameters.emplace_back(n.path, values_[i]);
      return;
    }
    v.backward = forward_ >= 0;
    if (!v.backward && v.path.starts_with("d(")) v.path = path_in_module(v.path, v.label);
    const int origin = rule >= 0 && rule != top_ ? rule : -1;
    if (origin >= 0) v.source = value_of_node(origin);
    if (last >= 0 && last != top_) v.during = value_of_node(last);
    const int reads = v.backward ? origin : -1;
    const std::vector<int> read = read_by_first_backward(n.path);
    for (std::size_t k = 0; k < n.operands.size(); ++k)
      v.inputs.push_back(node_or_constant(n.inputs[k], n.operands[k], n.path,
                                          n.formula->input_name(k), reads, read));
    if (rule == top_ && dy_ >= 0) {
      values_[i] = dy_;
      return;
    }
    if (rule == top_ && top_ >= 0) {  // 1, the gradient of the loss
      Value one;
      one.op = "number";
      one.value = n.value;
      values_[i] = add(std::move(one));
      return;
    }
    std::vector<int> operands = v.inputs;
    operands.insert(operands.end(), read.begin(), read.end());
    for (const Argument& a : n.arguments) {
      if (a.tensor.defined())
        v.tensors.emplace_back(a.name, constant(a.tensor, n.path, a.name, reads, operands));
      else
        v.arguments.push_back(a);
    }
    if (n.op == "dropout") {
      const NoGrad outside;
      const Var x = ones(v.shape(), v.value.dtype());
      v.tensors.emplace_back("mask", constant(n.run({x}).value(), n.path, "mask"));
    }
    values_[i] = simplified(std::move(v));
  }

  // The value itself where the op changes nothing; or the value as a new one.
  int simplified(Value v) {
    const bool same = v.op == "reshape" || v.op == "sum_to" || v.op == "broadcast_to";
    if (same && v.inputs[0] >= 0 && trace_[v.inputs[0]].shape() == v.shape()) {
      Value& input = trace_.values[static_cast<std::size_t>(v.inputs[0])];
      if (input.label.empty() && !v.label.empty() && input.op != "leaf" && input.op != "constant") {
        input.label = v.label;
        input.path = v.path;
        input.node = v.node;
      }
      return v.inputs[0];
    }
    if (v.op == "permute" && v.inputs[0] >= 0 && trace_[v.inputs[0]].op == "permute") {
      const Dims &outer = v.arguments[0].dims, &inner = trace_[v.inputs[0]].arguments[0].dims;
      bool back = true;
      for (int i = 0; i < outer.rank(); ++i) back = back && inner[static_cast<int>(outer[i])] == i;
      if (back) return trace_[v.inputs[0]].inputs[0];
    }
    return add(std::move(v));
  }

  const Pass& pass_;
  const NamedConstants& names_;
  Trace trace_;
  std::vector<int> values_;  // by node
  std::vector<int> constants_;
  std::map<std::string, int> paths_;  // of constants
  std::vector<Pending> pending_;
  int forward_ = -1, one_ = -1, top_ = -1, dy_ = -1, rule_ = -1, last_rule_ = -1, target_ = -1;
};

}  // namespace

Var ConstantNames::on_value(std::string_view path, Var v) {
  if (v.defined()) names.emplace_back(v.value(), path);
  return v;
}

double Value::number() const {
  return Tensor::from_storage(value.storage(), value.offset(), {}, {}, value.dtype()).item();
}

std::vector<bool> Trace::live() const {
  std::vector<bool> reached(values.size());
  auto reach = [&](int v) {
    if (v >= 0) reached[static_cast<std::size_t>(v)] = true;
  };
  reach(loss);
  for (const auto& [name, leaf] : parameters) reach(gradient(leaf));
  for (std::size_t i = values.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (int input : values[i].inputs) reach(input);
    for (const auto& [name, tensor] : values[i].tensors) reach(tensor);
  }
  return reached;
}

Trace trace_of(const Pass& pass, const NamedConstants& names) {
  return Builder(pass, names).both();
}

Trace forward_of(const Pass& pass, const NamedConstants& names) {
  return Builder(pass, names).forward();
}

}  // namespace glim::derive
