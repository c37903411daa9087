// The engine, backward: gradients go from the last node to the first, each to the inputs of its op,
//
//   dx_k = Σ over the ops that read x_k of  (∂y/∂x_k)ᵀ dy        (chain rule, parts added up)
//
// so a node's gradient is complete when its turn comes (Griewank & Walther 2008, Evaluating Derivatives, section 3.2).
// On a tape: Tape::backward → TapePass::begin → run → step, with observers → gradients → send, with checks (tape_pass.cpp).
#pragma once

#include "autograd/accumulate.hpp"
#include "autograd/graph.hpp"
#include "autograd/pending.hpp"
#include "autograd/restored.hpp"

namespace glim {

struct Backward {
  bool retain = false;        // keep what ops saved, for another backward
  bool create_graph = false;  // record backward itself (implies retain)
};

// One pass, until the end of the block: ops that rules call are recorded only with create_graph. backward() fills the
// leaves' grad; grad() does not, and reads gradients by an observer (tape_pass.cpp).
class BackwardPass {
 public:
  BackwardPass(Graph& graph, PendingGradients& pending, const Backward& options, bool fill_leaves)
      : graph_(graph),
        pending_(pending),
        options_(options),
        fill_leaves_(fill_leaves),
        paused_(graph.paused_, options.create_graph ? 0 : 1),
        open_(Graph::open_, &graph) {}
  virtual ~BackwardPass() = default;

  void run(int start, int last = 0) {
    for (int i = start; i >= last; --i)
      if (pending_.find(i)) step(i);
  }

  virtual void step(int i) {
    Node& node = graph_.nodes_[i];
    Var dy = pending_.take(i);
    if (node.leaf) {
      if (fill_leaves_ && node.leaf->trainable) add_to(*node.leaf, std::move(dy));
      return;
    }
    if (i == pending_.first) return;  // grad() asks for none before; backward()'s is node 0, a leaf
    Grads d = gradients(i, dy);       // (∂y/∂x_k)ᵀ dy for each input k
    dy = {};                          // d may share its memory: a sole owner is added to in place
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] >= pending_.first) send(i, k, d);
    if (!options_.retain && !options_.create_graph) node.op.reset();  // and what it saved
  }

 protected:
  // By the op's rule, or its kernel.
  virtual Grads gradients(int i, const Var& dy) {
    const Op& op = *graph_.nodes_[i].op;
    return options_.create_graph ? op.gradient(dy) : op.fast_gradient(dy);
  }
  // Adds the gradient of input k of node `sender` to the input's total. One of few elements is a part (AddTo).
  virtual void send(int sender, std::size_t k, Grads& d) {
    const int input = graph_.nodes_[sender].inputs[k];
    const Node& source = graph_.nodes_[input];
    if (Var gradient = d.take(k); gradient.defined())
      add_to(pending_.at(input), std::move(gradient), options_.create_graph);
    else
      add_to(pending_.at(input), d.take_part(), source.shape, source.dtype);
  }

  Graph& graph_;
  PendingGradients& pending_;
  const Backward options_;
  const bool fill_leaves_;

 private:
  Restored<int> paused_;
  Restored<Graph*> open_;
};

}  // namespace glim
