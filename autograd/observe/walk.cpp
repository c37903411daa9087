#include "autograd/observe/walk.hpp"

namespace glim {

BackwardWalk::BackwardWalk(Tape& tape, const Var& loss, Backward options)
    : BackwardWalk(tape, loss, Tape::one_for("backward", loss), options) {}

BackwardWalk::BackwardWalk(Tape& tape, const Var& y, const Tensor& dy, Backward options)
    : tape_(tape), options_(options), place_(tape.begin(table_, y, dy)) {}

int BackwardWalk::next() const {
  int i = place_;
  while (i >= 0 && !table_[i].defined()) --i;
  return i;
}

Tensor BackwardWalk::gradient(int node) const {
  if (node < 0 || node > place_) return {};
  const Var& g = table_[node];
  return g.defined() ? g.value().clone() : Tensor();
}

void BackwardWalk::set_gradient(int node, Tensor g) {
  if (node < 0 || node > place_)
    throw StateError("backward", "node " + std::to_string(node) +
                                     " has had its turn in this walk, or is not part of it");
  const Node& n = tape_.nodes()[node];
  if (g.defined() && (g.shape() != n.shape || g.dtype() != n.dtype)) {
    auto e = with_operands(
        ShapeError("backward", "a gradient must have the shape and dtype of " + tape_.path(node) +
                                   ", " + to_string(n.shape) + " " + std::string(name_of(n.dtype))),
        Operand("gradient", g));
    throw e;
  }
  table_[node] = g.defined() ? Var(std::move(g)) : Var();
}

WalkStep BackwardWalk::step(const FlowHook& through) {
  int node = next();
  if (node < 0) throw StateError("backward", "the walk is at its end");
  WalkStep seen;
  seen.node = node;
  int after = std::exchange(place_, -1);  // the end, should an exception come
  tape_.one_step(table_, node, options_, seen, through);
  place_ = std::min(after, node) - 1;
  return seen;
}

}  // namespace glim
