#include "autograd/tape_pass.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {

// Observers cannot write to the gradient: other branches may read the same memory. It stays as it is unless one of them
// replaces it.
void TapePass::step(int i) {
  if (!tape_.observers_.empty()) {
    Var dy = pending_.take(i);
    const Var before = (options_.create_graph ? dy : dy.detach()).read_only();
    Var shown = before;
    tape_.notify([&](Observer& o) { shown = o.change(i, std::move(shown)); });
    tape_.notify([&](Observer& o) { o.arrived(i, shown); });
    const Tensor &x = before.value(), &y = shown.value();
    const bool same = tape_.node_of(before) == tape_.node_of(shown) && x.storage() == y.storage() &&
                      x.offset() == y.offset() && x.strides() == y.strides();
    pending_.at(i) = std::move(same ? dy : shown);
  }
  BackwardPass::step(i);
}

Grads TapePass::gradients(int i, const Var& dy) {
  if (!tape_.nodes_[i].op)
    throw StateError("backward", tape_.path(i) +
                                     " was used up by an earlier backward; set `retain` in "
                                     "the first one");
  tape_.notify([&](Observer& o) { o.rule_begins(i); });
  Grads d;
  try {
    std::optional<Scope> recorded;
    if (options_.create_graph) recorded.emplace(Scope::Path{"d(" + tape_.path(i) + ")"});
    d = BackwardPass::gradients(i, dy);
  } catch (Error& e) {
    place(e, tape_, i);
    throw;
  }
  tape_.notify([&](Observer& o) { o.rule_ended(i); });
  return d;
}

// An input that needs a gradient has one, of its shape and dtype. Observers are told of it before it is added.
void TapePass::send(int sender, std::size_t k, Grads& d) {
  const Node& node = tape_.nodes_[sender];
  const int input = node.inputs[k];
  const Node& source = tape_.nodes_[input];
  auto refuse = [&](auto e) {
    place(e, tape_, sender);
    throw e;
  };
  const Var& g = d[k];
  if (g.defined() && (g.shape() != source.shape || g.dtype() != source.dtype))
    refuse(ShapeError(node.name(), "its rule gives a gradient " + g.value().kind() + " for " +
                                       node.formula->input_name(k) + ", which is " +
                                       to_string(source.shape) + " " +
                                       std::string(name_of(source.dtype))));
  const bool by_part = k == 0 && d.part();  // it is of input 0
  if (!g.defined() && !by_part)
    refuse(
        StateError(node.name(), "its rule gives no gradient for " + node.formula->input_name(k)));
  if (!tape_.observers_.empty()) {
    Flow flow{k, input, g.defined() ? g.value().read_only() : zeros(source.shape, source.dtype),
              sender};
    if (!g.defined()) d.part()(flow.gradient);
    tape_.notify([&](Observer& o) { o.flow(flow); });
  }
  BackwardPass::send(sender, k, d);
}

// ---- beginning and end ----

static void check_upstream(const char* op, const Var& y, const Tensor& dy) {
  if (!dy.defined() || dy.shape() != y.shape() || dy.dtype() != y.dtype())
    throw ShapeError(op, "dy must have y's shape and dtype", {{"y", y.value()}, {"dy", dy}});
}

Tensor TapePass::one_for(const char* op, const Var& loss) {
  if (loss.numel() != 1)
    throw ShapeError(op, "the loss must have one element; give dy otherwise",
                     {{"loss", loss.value()}});
  return ones(loss.shape(), loss.dtype());
}

int TapePass::begin(Tape& tape, PendingGradients& pending, const Var& y, const Var& dy) {
  const int root = tape.node_for(y);
  if (root < 0)
    throw StateError("backward", "the value was not computed from any trainable leaf on this tape",
                     {{"y", y.value()}});
  check_upstream("backward", y, dy.value());
  if (root < pending.first) return root;
  pending.make_room(root + 1);
  add_to(pending.at(root), dy, true);
  return root;
}

void Tape::backward(const Var& loss, Backward options) {
  backward(loss, TapePass::one_for("backward", loss), options);
}

void Tape::backward(const Var& y, const Tensor& dy, Backward options) {
  PendingGradients pending;
  const int root = TapePass::begin(*this, pending, y, dy);
  TapePass(*this, pending, options, true).run(root);
}

namespace {

// Takes the gradients that arrive at some nodes.
struct Reader final : Observer {
  void arrived(int node, const Var& dy) override {
    for (auto& [target, gradient] : reads)
      if (target == node) *gradient = dy;
  }
  std::vector<std::pair<int, Var*>> reads;
};

}  // namespace

std::vector<Var> Tape::grad(const std::vector<Var>& ys, const std::vector<Var>& xs,
                            const std::vector<Var>& dys, Backward options) {
  if (ys.size() != dys.size())
    throw ShapeError("grad", "there are " + std::to_string(ys.size()) + " outputs and " +
                                 std::to_string(dys.size()) + " upstream gradients");
  auto require_here = [&](const Var& v, const char* name, const std::string& role) {
    if (v.tape_ && !holds(v))
      throw StateError("grad", "a gradient is asked for " + role + " a value of another tape",
                       {{name, v.value()}});
  };
  std::vector<Var> result(xs.size());
  Reader reader;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    require_here(xs[i], "x", "with regard to");
    if (int node = node_for(xs[i]); node >= 0) reader.reads.emplace_back(node, &result[i]);
  }
  int first = static_cast<int>(nodes_.size());
  for (const auto& [node, gradient] : reader.reads) first = std::min(first, node);
  PendingGradients pending(first);
  int start = -1;
  for (std::size_t k = 0; k < ys.size(); ++k) {
    require_here(ys[k], "y", "of");
    const Var dy = dys[k].defined() ? dys[k] : TapePass::one_for("grad", ys[k]);
    check_upstream("grad", ys[k], dy.value());
    if (node_for(ys[k]) < 0) continue;
    start = std::max(
        start, TapePass::begin(*this, pending, ys[k], options.create_graph ? dy : dy.detach()));
  }
  if (start >= 0) {
    observe(reader);
    TapePass(*this, pending, options, false).run(start, first);
  }
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (!result[i].defined()) result[i] = zeros(xs[i].shape(), xs[i].dtype());
  return result;
}

}  // namespace glim
