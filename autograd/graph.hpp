// The engine: this file records ops, backward.hpp differentiates them. (One in 60 lines: models/transformer/one_file.cpp, part 2.)
//
//   apply(op, x...)     y = op.forward(x...);  nodes.add({op, the nodes of x...})     if some x needs a gradient
//   backward(loss)      dy[loss] = 1
//                       for i = loss, loss - 1, ..., 0:           an op's inputs are earlier nodes
//                         for each input k of node i:  dy[inputs[k]] += op_i.gradient(dy[i])[k]
//
// apply → apply_at_place (errors name the line) → Graph::record_or_compute (without a recording graph the op computes)
//       → forward_and_record (which inputs need a gradient?) → forward, which gives y; record, which adds a node
// Tape is the graph that users open (tape.hpp): it overrides the virtual functions, for observers and replay.
#pragma once

#include <concepts>
#include <unordered_map>

#include "autograd/op_form.hpp"
#include "autograd/op_type.hpp"
#include "autograd/operand.hpp"

namespace glim {

// y = op(inputs). Backward reads the first cache line and the shape. Scope, label and where are for names and errors.
struct alignas(64) Node {
  OpInPlace op;  // gone once backward has used it; none for a leaf
  std::shared_ptr<Leaf> leaf;
  std::span<const int> inputs;  // numbers of earlier nodes, -1 for a constant
  std::uint64_t serial;         // numbers are used again after nodes are removed, serials never
  const Formula* formula = nullptr;  // the op's
  DType dtype;
  Shape shape;
  const std::string* scope = nullptr;  // the path of its module; null for a leaf
  std::string_view label;  // given by named(); if empty, the name of the op or leaf is used
  Where where;

  std::string_view name() const { return formula ? formula->op : "leaf"; }
  Index bytes() const { return numel_of(shape) * static_cast<Index>(size_of(dtype)); }  // y's
};

class Graph {
 public:
  // The graph that records on this thread, or null; and the innermost one, recording or paused.
  static Graph* current() { return open_ && !open_->paused_ ? open_ : nullptr; }
  static Graph* open() { return open_; }
  static Var record_or_compute(const Call& call);  // y

  const ArenaList<Node>& nodes() const { return nodes_; }
  int node_of(const Var& v) const;  // -1 for a constant

 protected:
  friend class BackwardPass;
  friend class Var;
  explicit Graph(std::uint64_t id) : id_(id) {}
  virtual Var forward_and_record(const Call& call);
  virtual Tensor forward(const Call& call) { return call.type.forward(call.op, call.inputs); }
  virtual Var record(const Call& call, Tensor y);
  bool holds(const Var& v) const {  // computed on this graph, and its node is still there
    return v.tape_ == id_ && static_cast<std::size_t>(v.node_) < nodes_.size() &&
           nodes_[v.node_].serial == v.serial_;
  }
  virtual int node_for(const Var& v);  // node_of; a leaf gets its node on its first use
  Node& add_node(const Tensor& y);
  Var value_of(int node, Tensor y) const;

  static inline constinit thread_local Graph* open_ = nullptr;
  TapeArena arena_;  // memory of the nodes, their ops and saved values
  ArenaList<Node> nodes_;
  std::unordered_map<const Leaf*, int> leaf_nodes_;
  std::uint64_t id_, next_serial_ = 1;
  int paused_ = 0;  // how many stop it from recording
};

Var apply_at_place(const Call& call);      // tape.cpp
Var named(Var v, std::string_view label);  // tape.hpp

template <class OpT, class... Inputs>
Var apply(OpT op, const Operand& first, const Inputs&... rest) {
  const Where& where = first.where();
  if constexpr (std::derived_from<OpT, Fused>)
    if (op_form() == OpForm::Explicit) {  // UseForm: its primitives are recorded instead
      CallSite site(where);
      return op.explicit_form(*first, rest...);
    }
  const Var* inputs[] = {&*first, &rest...};
  Var y = apply_at_place(Call{op, kOpType<OpT, 1 + sizeof...(rest)>, inputs, where});
  if constexpr (requires { OpT::label; }) y = named(std::move(y), OpT::label);
  return y;
}
// An op of any number of inputs, called at `where`.
template <class OpT>
Var apply(OpT op, const std::vector<Var>& list, const Where& where) {
  std::vector<const Var*> inputs;
  for (const Var& v : list) inputs.push_back(&v);
  return apply_at_place(Call{op, kOpType<OpT, 0>, inputs, CallSite::or_own(where)});
}

}  // namespace glim
