// The backward pass over a tape: gradients go from the last node to the first, each to the inputs of its op,
//
//   dx_k = Σ over the ops that read x_k of  (∂y/∂x_k)ᵀ dy        (chain rule, parts added up)
//
// so that a node's gradient is complete when its turn comes. Errors: tape.hpp.
#include "autograd/engine.hpp"

#include "autograd/ops.hpp"
#include "autograd/tape.hpp"

namespace glim {

void Engine::pass(Tape& tape, const Var& y, const Var& dy, const Backward& options,
                  bool fill_leaves) {
  Table table;
  const int root = begin(tape, table, y, dy);
  Engine(tape, options, fill_leaves).run(table, root);
}

void Engine::run(Table& table, int from, int last) {
  for (int i = from; i >= last; --i)
    if (table.find(i)) step(table, i);
}

Var& Engine::Table::at(int node) {
  int& place = place_[node - first];
  if (place == kNone && free_.empty()) {
    place = static_cast<int>(gradients_.size());
    gradients_.emplace_back();
  } else if (place == kNone) {
    place = free_.back();
    free_.pop_back();
  }
  return gradients_[place];
}

Var Engine::Table::take(int node) {
  const int place = std::exchange(place_[node - first], kNone);
  if (place == kNone) return {};
  free_.push_back(place);
  return std::move(gradients_[place]);
}

void Engine::step(Table& table, int i) {
  Node& node = tape_.nodes_[i];
  Var dy = table.take(i);
  arrived(i, dy);
  if (Leaf* leaf = node.leaf.get()) {
    if (fill_leaves_ && leaf->trainable) fill(*leaf, std::move(dy));  // it may have been frozen
    return;
  }
  if (i == table.first) return;  // its inputs are before it
  Grads d = gradients(i, dy);
  dy = {};
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (int input = node.inputs[k]; input >= table.first) pass_on(table, i, k, input, d);
  if (!retain_) node.op.reset();
}

// The op is kept by pointer while its rule runs.
Grads Engine::gradients(int i, const Var& dy) {
  const Op* op = tape_.nodes_[i].op.get();
  if (!op)
    throw StateError("backward", tape_.path(i) +
                                     " was used up by an earlier backward; set `retain` in "
                                     "the first one");
  tape_.notify([&](Observer& o) { o.rule_begins(i); });
  Grads d;
  try {
    if (create_graph_) {
      Scope recorded(Scope::Path{"d(" + tape_.path(i) + ")"});
      d = op->gradient(dy);
    } else {
      d = op->fast_gradient(dy);
    }
  } catch (Error& e) {
    place(e, tape_, i);
    throw;
  }
  tape_.notify([&](Observer& o) { o.rule_ended(i); });
  return d;
}

// Input k of `from` is `node`. Adds the gradient of this input to the node's total.
void Engine::pass_on(Table& table, int from, std::size_t k, int node, Grads& d) {
  auto refuse = [&](auto e) {
    place(e, tape_, from);
    throw e;
  };
  const bool watched = !tape_.observers_.empty();
  const Node& source = tape_.nodes_[node];
  if (Var g = d.take(k); g.defined()) {
    if (g.shape() != source.shape || g.dtype() != source.dtype)
      refuse(ShapeError(tape_.nodes_[from].name(),
                        "its rule gives a gradient " + g.value().kind() + " for " +
                            tape_.nodes_[from].formula->input_name(k) + ", which is " +
                            to_string(source.shape) + " " + std::string(name_of(source.dtype))));
    if (watched) sent({k, node, g.value().read_only(), from});
    add(table, node, std::move(g));
  } else if (AddTo part = d.take_part()) {
    if (watched) {
      Tensor alone = zeros(source.shape, source.dtype);
      part(alone);
      sent({k, node, alone, from});
    }
    add(table, node, part);
  } else {
    refuse(StateError(tape_.nodes_[from].name(), "its rule gives no gradient for " +
                                                     tape_.nodes_[from].formula->input_name(k)));
  }
}

// ---- observers ----

// Observers cannot write to the gradient: other branches may read the same memory.
void Engine::arrived(int i, Var& dy) {
  if (tape_.observers_.empty()) return;
  Var shown = dy.is_leaf() && !create_graph_ ? dy.detach() : dy;
  if (!shown.is_leaf()) shown.value_ = shown.value_.read_only();
  const Var before = shown;
  tape_.notify([&](Observer& o) { shown = o.change(i, std::move(shown)); });
  tape_.notify([&](Observer& o) { o.arrived(i, shown); });
  if (!same(before, shown)) dy = std::move(shown);
}

bool Engine::same(const Var& a, const Var& b) {
  const Tensor &x = a.value(), &y = b.value();
  return a.node_ == b.node_ && x.storage() == y.storage() && x.offset() == y.offset() &&
         x.strides() == y.strides();
}

void Engine::sent(const Flow& flow) {
  tape_.notify([&](Observer& o) { o.flow(flow); });
}

// ---- beginning and end ----

Engine::Engine(Tape& tape, const Backward& options, bool fill_leaves)
    : tape_(tape),
      retain_(options.retain || options.create_graph),
      create_graph_(options.create_graph),
      fill_leaves_(fill_leaves),
      paused_(tape.paused_, options.create_graph ? 0 : 1),
      running_(tape.running_, this),
      open_(Tape::open_, &tape) {}

void Engine::check_upstream(const char* op, const Var& y, const Tensor& dy) {
  if (!dy.defined() || dy.shape() != y.shape() || dy.dtype() != y.dtype())
    throw ShapeError(op, "dy must have y's shape and dtype", {{"y", y.value()}, {"dy", dy}});
}

Tensor Engine::one_for(const char* op, const Var& loss) {
  if (loss.numel() != 1)
    throw ShapeError(op, "the loss must have one element; give dy otherwise",
                     {{"loss", loss.value()}});
  return ones(loss.shape(), loss.dtype());
}

int Engine::begin(Tape& tape, Table& table, const Var& y, const Var& dy) {
  int root = tape.number_of(y);
  if (root < 0)
    throw StateError("backward", "the value was not computed from any trainable leaf on this tape",
                     {{"y", y.value()}});
  check_upstream("backward", y, dy.value());
  if (root < table.first) return root;
  table.make_room(root + 1);
  const bool again = table.find(root);
  Var& total = table.at(root);
  total = again ? total + dy : dy;
  return root;
}

}  // namespace glim
