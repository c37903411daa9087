// One backward pass, node by node, in the order in which Tape::backward takes them.
//
//   BackwardWalk walk(tape, loss, {.retain = true});
//   while (walk.next() >= 0) {
//     WalkStep s = walk.step();       // s.dy = ∂L/∂(value of s.node)
//     ...                             // s.flows: what its op sends to each of its inputs
//   }
//
// A node's gradient is the sum of the flows of all nodes that read its value. Nodes are taken from
// the loss to the front, so when a node's turn comes its gradient is complete. Tape::backward runs
// the same steps: a walk to the end leaves the same bits in the leaves.
//
// Between steps the gradients that wait can be read and replaced. One that is replaced before its
// turn is added to by the flows that are still to come; at its turn (node == next()) it is final.
// An undefined gradient is none: the pass goes around the node, and what is below it alone gets
// no gradient at all.
//
// Callers get copies. A walk must not outlive its tape. An exception from step() ends the
// walk, as it ends backward.
#pragma once

#include <vector>

#include "autograd/pending.hpp"
#include "autograd/tape.hpp"

namespace glim {

struct WalkStep {
  int node = -1;
  Tensor dy;  // the complete gradient, after hooks and patches
  std::vector<Flow> flows;
};

class BackwardWalk {
 public:
  // Errors as Tape::backward's. Without `fill_leaves` the leaves' grad() is left alone.
  BackwardWalk(Tape& tape, const Var& loss, Backward options = {});
  BackwardWalk(Tape& tape, const Var& y, const Tensor& dy, Backward options = {},
               bool fill_leaves = true);

  // The node that step() takes, -1 at the end. Nodes that no gradient reached are passed over.
  int next() const;
  // The gradient that has arrived so far at a node whose turn is to come; undefined: none.
  Tensor gradient(int node) const;
  // Replaces it. StateError when the node's turn is over, ShapeError unless g has the shape and
  // dtype of the node's value.
  void set_gradient(int node, Tensor g);
  // Takes the next node. StateError at the end.
  WalkStep step();

 private:
  Tape& tape_;
  Backward options_;
  bool fill_leaves_;
  PendingGradients pending_;
  int place_ = -1;  // no node above it is to come
};

}  // namespace glim
