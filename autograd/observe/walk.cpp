#include "autograd/observe/walk.hpp"

#include "autograd/tape_pass.hpp"
#include "tensor/error.hpp"

namespace glim {

BackwardWalk::BackwardWalk(Tape& tape, const Var& loss, Backward options)
    : BackwardWalk(tape, loss, TapePass::one_for("backward", loss), options) {}

BackwardWalk::BackwardWalk(Tape& tape, const Var& y, const Tensor& dy, Backward options,
                           bool fill_leaves)
    : tape_(tape),
      options_(options),
      fill_leaves_(fill_leaves),
      place_(TapePass::begin(tape, pending_, y, dy)) {}

int BackwardWalk::next() const {
  int i = place_;
  while (i >= 0 && !pending_.find(i)) --i;
  return i;
}

Tensor BackwardWalk::gradient(int node) const {
  if (node < 0 || node > place_) return {};
  const Var* g = pending_.find(node);
  return g ? g->value().clone() : Tensor();
}

void BackwardWalk::set_gradient(int node, Tensor g) {
  if (node < 0 || node > place_)
    throw StateError("backward", "node " + std::to_string(node) +
                                     " was taken by this walk already, or is not part of it");
  const Node& n = tape_.nodes()[node];
  if (g.defined() && (g.shape() != n.shape || g.dtype() != n.dtype)) {
    throw ShapeError("backward",
                     "a gradient must have the shape and dtype of " + tape_.path(node) + ", " +
                         to_string(n.shape) + " " + std::string(name_of(n.dtype)),
                     {{"gradient", g}});
  }
  if (g.defined())
    pending_.at(node) = Var(std::move(g));
  else
    pending_.take(node);
}

namespace {

// Records one node's step.
struct StepObserver final : Observer {
  explicit StepObserver(int node) { step.node = node; }

  void arrived(int node, const Var& dy) override {
    if (node == step.node) step.dy = dy.value().clone();
  }
  // Copies the gradient. A second reference would keep the engine from accumulating in place, and
  // sums in another layout round differently.
  void flow(const Flow& f) override {
    if (f.sender == step.node)  // not within a checkpointed region
      step.flows.push_back({f.input, f.node, f.gradient.clone(), f.sender});
  }
  WalkStep step;
};

}  // namespace

WalkStep BackwardWalk::step() {
  int node = next();
  if (node < 0) throw StateError("backward", "the walk is at its end");
  int after = std::exchange(place_, -1);  // the end, should an exception come
  StepObserver observer(node);
  tape_.observe(observer);
  TapePass(tape_, pending_, options_, fill_leaves_).step(node);
  place_ = std::min(after, node) - 1;
  return std::move(observer.step);
}

}  // namespace glim
