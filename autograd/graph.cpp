#include "autograd/graph.hpp"

namespace glim {

Var Graph::record_or_compute(const Call& call) {
  if (Graph* graph = current()) return graph->forward_and_record(call);
  call.op.start(call.type.formula, {}, 0);
  return Var(call.type.forward(call.op, call.inputs));
}

Var Graph::forward_and_record(const Call& call) {
  // A bit for each input that needs a gradient, the last for all from 63 on.
  std::uint64_t needs = 0;
  for (std::size_t k = 0; k < call.inputs.size(); ++k)
    if (call.inputs[k]->requires_grad()) needs |= std::uint64_t{1} << std::min<std::size_t>(k, 63);
  call.op.start(call.type.formula, call.inputs, needs);
  Tensor y = forward(call);
  return needs ? record(call, std::move(y)) : Var(std::move(y));
}

Var Graph::record(const Call& call, Tensor y) {
  const std::span inputs(arena_.room<int>(call.inputs.size()), call.inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) inputs[k] = node_for(*call.inputs[k]);
  OpInPlace op(call.type.move(call.op, arena_));
  Node& node = add_node(y);
  node.op = std::move(op);
  node.formula = &call.type.formula;
  node.inputs = inputs;
  node.where = call.where;
  Var result = value_of(static_cast<int>(nodes_.size()) - 1, std::move(y));
  node.op->keep_saved(arena_, call.inputs, result);
  return result;
}

Node& Graph::add_node(const Tensor& y) {
  Node& node = nodes_.add(arena_);
  node.serial = next_serial_++;
  node.shape = y.shape();
  node.dtype = y.dtype();
  return node;
}

Var Graph::value_of(int node, Tensor y) const {
  Var v(std::move(y));
  v.tape_ = id_;
  v.node_ = node;
  v.serial_ = nodes_[node].serial;
  return v;
}

int Graph::node_of(const Var& v) const {
  if (!v.leaf_) return holds(v) ? v.node_ : -1;
  // A leaf remembers its last node, so that most look-ups need no hash.
  const auto last_used = static_cast<std::size_t>(v.leaf_->node.load(std::memory_order_relaxed));
  if (last_used < nodes_.size() && nodes_[last_used].leaf == v.leaf_)
    return static_cast<int>(last_used);
  const auto known = leaf_nodes_.find(v.leaf_.get());
  return known == leaf_nodes_.end() ? -1 : known->second;
}

int Graph::node_for(const Var& v) {
  if (v.leaf_ && !v.leaf_->trainable) return -1;
  int number = node_of(v);
  if (!v.leaf_) return number;
  if (number < 0) {
    number = static_cast<int>(nodes_.size());
    add_node(v.value()).leaf = v.leaf_;
    leaf_nodes_.emplace(v.leaf_.get(), number);
  }
  v.leaf_->node.store(number, std::memory_order_relaxed);
  return number;
}

}  // namespace glim
