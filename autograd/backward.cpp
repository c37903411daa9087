// The backward pass over a tape: gradients go from the last node to the first, each to what its op was
// computed from,
//
//   dx_k = Σ over the ops that read x_k of  (∂y/∂x_k)ᵀ dy        (chain rule, parts added up)
//
// so that a node's gradient is complete when its turn comes. Reverse-mode accumulation: Griewank &
// Walther, Evaluating Derivatives (2nd ed.), chapter 3. Errors: tape.hpp.

#include "autograd/observe/walk.hpp"
#include "autograd/ops.hpp"
#include "tensor/clock.hpp"
#include "tensor/ops/elementwise.hpp"

namespace glim {
namespace {

// True when nobody else sees these elements, nor one element stands for several: it may be added to
// in place.
bool exclusive(const Tensor& x) {
  for (int i = 0; i < x.rank(); ++i)
    if (x.strides()[i] == 0 && x.shape()[i] > 1) return false;
  return x.storage().use_count() == 1;
}

}  // namespace

void Tape::check_upstream(const char* op, const Var& y, const Tensor& dy) {
  if (!dy.defined() || dy.shape() != y.shape() || dy.dtype() != y.dtype())
    throw with_operands(ShapeError(op, "dy must have y's shape and dtype"), Operand("y", y.value()),
                        Operand("dy", dy));
}

Tensor Tape::one_for(const char* op, const Var& loss) {
  if (loss.numel() != 1)
    throw with_operands(ShapeError(op, "the loss must have one element; give dy otherwise"),
                        Operand("loss", loss.value()));
  return ones(loss.shape(), loss.dtype());
}

int Tape::begin(Table& table, const Var& y, const Tensor& dy) {
  int root = number_of(y);
  if (root < 0)
    throw with_operands(
        StateError("backward", "the value was not computed from any leaf on this tape"),
        Operand("y", y.value()));
  check_upstream("backward", y, dy);
  table.resize(nodes_.size());
  table[root] = dy;
  return root;
}

void Tape::backward(const Var& loss, Backward options) {
  backward(loss, one_for("backward", loss), options);
}

void Tape::backward(const Var& y, const Tensor& dy, Backward options) {
  Table table;
  int root = begin(table, y, dy);
  sweep(table, root,
        {.retain = options.retain || options.create_graph,
         .create_graph = options.create_graph,
         .fill_leaves = true,
         .readers = {}});
}

std::vector<Var> Tape::grad(const Var& y, const std::vector<Var>& xs, const Tensor& dy,
                            Backward options) {
  Tensor upstream = dy.defined() ? dy : one_for("grad", y);
  check_upstream("grad", y, upstream);
  std::vector<Var> result(xs.size());
  Sweep options_of_sweep{.retain = options.retain || options.create_graph,
                         .create_graph = options.create_graph,
                         .readers = {}};
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].tape_ && !holds(xs[i]))
      throw with_operands(StateError("grad", "a gradient is asked for by a value of another tape"),
                          Operand("x", xs[i].value()));
    if (int node = number_of(xs[i]); node >= 0)
      options_of_sweep.readers.emplace_back(node, &result[i]);
  }
  if (int root = number_of(y); root >= 0) {
    Table table(nodes_.size());
    table[root] = upstream;
    sweep(table, root, options_of_sweep);
  }
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (!result[i].defined()) result[i] = zeros(xs[i].shape(), xs[i].dtype());
  return result;
}

// The state of a backward under way, until the end of the block: ops that backward calls belong to
// this tape, and are recorded only with create_graph.
class Tape::Sweeping {
 public:
  Sweeping(Tape& tape, const Sweep& options)
      : tape_(tape),
        filling_(std::exchange(tape.filling_leaves_, options.fill_leaves)),
        paused_(std::exchange(tape.paused_, !options.create_graph)),
        open_(exchange_open(&tape)) {}
  ~Sweeping() {
    tape_.filling_leaves_ = filling_;
    tape_.paused_ = paused_;
    exchange_open(open_);
  }
  Sweeping(const Sweeping&) = delete;
  Sweeping& operator=(const Sweeping&) = delete;

 private:
  Tape& tape_;
  bool filling_, paused_;
  Tape* open_;
};

void Tape::sweep(Table& table, int from, const Sweep& options) {
  Sweeping state(*this, options);
  for (int i = from; i >= options.last; --i)
    if (table[i].defined()) step(table, i, options);
}

void Tape::one_step(Table& table, int i, Backward options, WalkStep& seen,
                    const FlowHook& through) {
  Sweep one{.retain = options.retain || options.create_graph,
            .create_graph = options.create_graph,
            .fill_leaves = true,
            .readers = {},
            .seen = &seen,
            .through = through ? &through : nullptr};
  Sweeping state(*this, one);
  step(table, i, one);
}

void Tape::step(Table& table, int i, const Sweep& options) {
  auto at = static_cast<std::size_t>(i);
  Var gradient = run_hooks(i, std::move(table[at]));
  if (options_.check_finite && !all_finite(gradient.value())) {
    NonFiniteError e(nodes_[at].name, "the gradient that it was given is not finite");
    e.add_operand("dy", gradient.value().kind());
    place(e, i);
    throw e;
  }
  for (Watched& w : watched_)
    if (w.node == i) w.grad = gradient.value();
  for (auto& [node, result] : options.readers)
    if (node == i) *result = gradient;
  if (options.seen) options.seen->dy = gradient.value().clone();
  if (nodes_[at].leaf) {
    if (options.fill_leaves) finish_leaf(nodes_[at], std::move(gradient));
    return;
  }
  if (!nodes_[at].op) used_up(i);
  // Backward, and adding up, may add nodes, which moves them all: the op is kept by pointer, the
  // rest is looked up again.
  const Op* op = nodes_[at].op.get();
  double start = options_.profile ? seconds_now() : 0;
  Grads d;
  try {
    std::vector<std::string> scope;
    if (options.create_graph) scope.push_back("d(" + path(i) + ")");
    if (options.create_graph) {
      Scope recorded(std::move(scope));
      d = op->backward(gradient);
    } else {
      d = op->backward(gradient);
    }
  } catch (Error& e) {
    e.set_place(path(i), to_string(nodes_[at].where));
    throw;
  }
  if (options_.profile) {
    nodes_[at].backward_start = start;
    nodes_[at].backward_seconds += seconds_now() - start;
  }
  gradient = {};
  for (std::size_t k = 0; k < nodes_[at].inputs.size(); ++k) {
    int input = nodes_[at].inputs[k];
    if (input < 0) continue;
    if (!d.has(k)) {
      if (AddTo add_part = d.take_part(k)) {
        if (!options.seen || !see(options, k, input, part_of(input, add_part)))
          accumulate(table, input, add_part);
        else
          accumulate(table, input, options.seen->flows.back().gradient, options.create_graph);
        continue;
      }
      throw StateError(nodes_[at].name,
                       "backward returned no gradient for input " + std::to_string(k));
    }
    Var g = d.take(k);
    const Node& source = nodes_[input];
    if (g.shape() != source.shape || g.dtype() != source.dtype) {
      ShapeError e(nodes_[at].name, "backward returned a gradient " + g.value().kind() +
                                        " for input " + std::to_string(k) + ", which is " +
                                        to_string(source.shape) + " " +
                                        std::string(name_of(source.dtype)));
      place(e, i);
      throw e;
    }
    if (options_.check_finite && !all_finite(g.value())) {
      NonFiniteError e(nodes_[at].name, "its gradient of input " + std::to_string(k) +
                                            " is not finite, though that of its output is");
      e.add_operand("gradient", g.value().kind());
      e.set_operand_path(0, path(input));
      place(e, i);
      throw e;
    }
    if (options.seen && see(options, k, input, g.value())) g = options.seen->flows.back().gradient;
    accumulate(table, input, std::move(g), options.create_graph);
  }
  if (!options.retain) nodes_[at].op.reset();
}

Tensor Tape::part_of(int node, const AddTo& add_part) const {
  const Node& source = nodes_[node];
  Tensor part = zeros(source.shape, source.dtype);
  add_part(part);
  return part;
}

bool Tape::see(const Sweep& options, std::size_t input, int node, const Tensor& gradient) const {
  // A copy: a second holder would keep the gradient from being added to in place, and where that
  // changes its layout, parts added later round otherwise.
  Flow flow{input, node, gradient.clone()};
  Tensor replaced = options.through ? (*options.through)(flow) : Tensor();
  if (replaced.defined()) {
    if (replaced.shape() != flow.gradient.shape() || replaced.dtype() != flow.gradient.dtype()) {
      auto e = with_operands(
          ShapeError("backward", "a flow's replacement must have its shape and dtype"),
          Operand("flow", flow.gradient), Operand("replacement", replaced));
      place(e, node);
      throw e;
    }
    flow.gradient = replaced;
  }
  options.seen->flows.push_back(std::move(flow));
  return replaced.defined();
}

void Tape::accumulate(Table& table, int node, Var gradient, bool create_graph) const {
  Var& total = table[node];
  if (!total.defined())
    total = std::move(gradient);
  else if (create_graph || !exclusive(total.value()))
    total = add(total, gradient);
  else
    add_(total.value(), gradient.value());
}

void Tape::accumulate(Table& table, int node, const AddTo& add_part) const {
  Var& total = table[node];
  const Node& source = nodes_[node];
  if (!total.defined())
    total = zeros(source.shape, source.dtype);
  else if (!exclusive(total.value()))
    total = total.value().clone();
  add_part(total.value());
}

void Tape::finish_leaf(Node& node, Var gradient) {
  Leaf& leaf = *node.leaf;
  if (leaf.grad.defined()) {
    add_(leaf.grad, gradient.value());
    return;
  }
  Tensor g = gradient.value();
  gradient = {};
  // The leaf may change its gradient in place, so it must be the only one that sees it; and it may
  // live long, so it must not be a small part of something larger.
  bool alone = g.is_contiguous() && g.storage().use_count() == 1 &&
               static_cast<Index>(g.storage().bytes()) <= 2 * g.bytes();
  leaf.grad = alone ? g : g.clone();
}

std::vector<std::pair<int, Var>> Tape::inner_gradients(const Var& y, const Var& dy, int first,
                                                       const Sweep& options) {
  std::vector<std::pair<int, Var>> result;
  int root = number_of(y);
  if (root < 0) return result;
  Table table(nodes_.size());
  table[root] = dy;
  if (root >= first) {
    Sweep inner = options;
    inner.last = first;
    sweep(table, root, inner);
  }
  for (int i = 0; i < first; ++i)
    if (table[i].defined()) result.emplace_back(i, std::move(table[i]));
  return result;
}

Grads FusedOp::through_composition(const std::vector<Var>& inputs, const Var& dy) const {
  Tape& tape = *Tape::current();
  int first = static_cast<int>(tape.nodes_.size());
  // The inputs are nodes before `first`: gradients stop there, added up for one given twice.
  Var y = composition(inputs);
  auto found =
      tape.inner_gradients(y, dy, first, {.retain = true, .create_graph = true, .readers = {}});
  Grads d;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!needs_grad(k)) continue;
    for (auto& [node, g] : found)
      if (g.defined() && node == tape.node_of(inputs[k])) d[k] = std::exchange(g, Var());
    if (!d.has(k)) d[k] = Var(zeros(inputs[k].shape(), inputs[k].dtype()));
  }
  return d;
}

}  // namespace glim
