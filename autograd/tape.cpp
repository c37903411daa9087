#include "autograd/tape.hpp"

#include <atomic>
#include <chrono>

#include "autograd/ops.hpp"
#include "autograd/walk.hpp"
#include "tensor/elementwise.hpp"

namespace glim {
namespace {

thread_local Tape* open_tape = nullptr;
std::atomic<std::uint64_t> next_tape{1};

// True when nobody else sees these elements, nor one element stands for several: it may be added to
// in place.
bool exclusive(const Tensor& x) {
  for (int i = 0; i < x.rank(); ++i)
    if (x.strides()[i] == 0 && x.shape()[i] > 1) return false;
  return x.storage().use_count() == 1;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// The memory of the last tape's nodes serves the next one on this thread: a training step allocates
// none, and a growing list moves none.
static thread_local bool spare_gone = false;  // the thread is ending; a static tape may outlive it
static thread_local struct Spare {
  std::vector<Node> nodes;
  ~Spare() { spare_gone = true; }
} spare;
static constexpr std::size_t kMostSpare = std::size_t{1} << 16;

Tape::Tape(TapeOptions options) : options_(options), id_(next_tape++), outer_(open_tape) {
  open_tape = this;
  if (!spare_gone) nodes_ = std::exchange(spare.nodes, {});
}

// Nodes are freed from the back, so that no chain of owners can recurse.
Tape::~Tape() {
  truncate(0);
  if (open_tape == this) open_tape = outer_;
  for (Tape* t = open_tape; t; t = t->outer_)  // not the innermost one: tapes may go in any order
    if (t->outer_ == this) t->outer_ = outer_;
  if (!spare_gone && nodes_.capacity() <= kMostSpare) spare.nodes = std::move(nodes_);
}

Tape* Tape::current() { return open_tape && !open_tape->paused_ ? open_tape : nullptr; }

Tape* Tape::open() { return open_tape; }

void Tape::truncate(std::size_t size, bool keep_watched) {
  while (nodes_.size() > size) {
    if (Leaf* l = nodes_.back().leaf.get()) {
      leaf_nodes_.erase(l);
      if (l->tape == id_) l->tape = 0;
    }
    nodes_.pop_back();
  }
  while (kept_.size() > size) kept_.pop_back();
  auto gone = [size](int node) { return node >= 0 && static_cast<std::size_t>(node) >= size; };
  std::erase_if(hooks_, [&](const NodeHook& h) { return gone(h.node); });
  if (!keep_watched) std::erase_if(watched_, [&](const Watched& w) { return gone(w.node); });
  for (Watched& w : watched_)
    if (gone(w.node)) w.node = -1;
}

int Tape::add_node(Node node) {
  node.serial = next_serial_++;
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size()) - 1;
}

void Tape::keep(int node, Kept kept) {
  kept_.resize(nodes_.size());
  kept_[static_cast<std::size_t>(node)] = std::move(kept);
}

void Tape::bind(Var& v, int node) const {
  v.tape_ = id_;
  v.node_ = node;
  v.serial_ = nodes_[static_cast<std::size_t>(node)].serial;
}

bool Tape::holds(const Var& v) const {
  auto at = static_cast<std::size_t>(v.node_);
  return v.tape_ == id_ && at < nodes_.size() && nodes_[at].serial == v.serial_;
}

int Tape::current_scope() {
  if (scope_version_ != Scope::version() || scopes_.empty()) {
    scope_version_ = Scope::version();
    auto [at, added] = scope_numbers_.try_emplace(Scope::path(), static_cast<int>(scopes_.size()));
    if (added) scopes_.push_back(at->first);
    scope_ = at->second;
  }
  return scope_;
}

int Tape::number_of(const Var& v) {
  if (!v.leaf_) return holds(v) ? v.node_ : -1;
  Leaf& leaf = *v.leaf_;
  if (!leaf.trainable) return -1;
  if (leaf.tape == id_) return leaf.node;
  // An inner tape may have used it since: it has one node here all the same.
  if (auto known = leaf_nodes_.find(&leaf); known != leaf_nodes_.end()) {
    leaf.node = known->second;
    leaf.tape = id_;
  } else {
    Node node;
    node.name = "leaf";
    node.shape = leaf.value.shape();
    node.dtype = leaf.value.dtype();
    node.label = leaf.name.empty() ? "leaf" : leaf.name;
    node.leaf = v.leaf_;
    node.bytes = leaf.value.numel() * static_cast<Index>(size_of(node.dtype));
    if (scopes_.empty()) current_scope();
    node.scope = -1;  // a leaf's name is its whole path
    leaf.node = add_node(std::move(node));
    leaf.tape = id_;
    leaf_nodes_[&leaf] = leaf.node;
    note_watched(leaf.node, leaf.value);
  }
  return leaf.node;
}

int Tape::node_of(const Var& v) const {
  if (!v.leaf_) return holds(v) ? v.node_ : -1;
  if (v.leaf_->tape == id_) return v.leaf_->node;
  auto known = leaf_nodes_.find(v.leaf_.get());
  return known == leaf_nodes_.end() ? -1 : known->second;
}

std::string Tape::path(int i) const {
  const Node& node = nodes_[static_cast<std::size_t>(i)];
  std::string own = node.label.empty() ? std::string(node.name) : node.label;
  if (node.scope < 0 || scope_path(node.scope).empty()) return own;
  return scope_path(node.scope) + "." + own;
}

const Kept& Tape::kept(int i) const {
  auto at = static_cast<std::size_t>(i);
  if (i < 0 || at >= nodes_.size())
    throw StateError("kept", "there is no node " + std::to_string(i) + " on the tape");
  if (nodes_[at].leaf) throw StateError("kept", path(i) + " is a leaf: nothing computed it");
  if (at >= kept_.size() || !kept_[at].value.defined())
    throw StateError("kept", path(i) + " was recorded without TapeOptions{.replay = true}");
  return kept_[at];
}

Var Tape::value(int i) const {
  auto at = static_cast<std::size_t>(i);
  Var v;
  if (i >= 0 && at < nodes_.size() && nodes_[at].leaf) {
    v.leaf_ = nodes_[at].leaf;
  } else {
    v = Var(kept(i).value);
    bind(v, i);
  }
  return v;
}

void Tape::place(Error& error, int i) const {
  const Node& node = nodes_[static_cast<std::size_t>(i)];
  error.set_place(path(i), node.leaf ? "" : to_string(node.where));
}

// ---- backward ----

Tensor Tape::one_for(const Var& loss) {
  if (loss.numel() != 1)
    throw with_operands(ShapeError("backward", "the loss must have one element; give dy otherwise"),
                        Operand("loss", loss.value()));
  return ones(loss.shape(), loss.dtype());
}

int Tape::begin(Table& table, const Var& y, const Tensor& dy) {
  int root = number_of(y);
  if (root < 0)
    throw with_operands(
        StateError("backward", "the value was not computed from any leaf on this tape"),
        Operand("y", y.value()));
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype())
    throw with_operands(ShapeError("backward", "dy must have y's shape and dtype"),
                        Operand("y", y.value()), Operand("dy", dy));
  table.resize(nodes_.size());
  table[static_cast<std::size_t>(root)] = dy;
  return root;
}

void Tape::backward(const Var& loss, Backward options) { backward(loss, one_for(loss), options); }

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
  Tensor upstream = dy;
  if (!upstream.defined()) {
    if (y.numel() != 1)
      throw with_operands(ShapeError("grad", "y must have one element; give dy otherwise"),
                          Operand("y", y.value()));
    upstream = ones(y.shape(), y.dtype());
  }
  if (upstream.shape() != y.shape() || upstream.dtype() != y.dtype())
    throw with_operands(ShapeError("grad", "dy must have y's shape and dtype"),
                        Operand("y", y.value()), Operand("dy", upstream));
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
    table[static_cast<std::size_t>(root)] = upstream;
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
        open_(std::exchange(open_tape, &tape)) {}
  ~Sweeping() {
    tape_.filling_leaves_ = filling_;
    tape_.paused_ = paused_;
    open_tape = open_;
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
    if (table[static_cast<std::size_t>(i)].defined()) step(table, i, options);
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
  if (!nodes_[at].op)
    throw StateError("backward", path(i) +
                                     " was used up by an earlier backward; the first one needs "
                                     "Backward{.retain = true}");
  // Backward, and adding up, may add nodes, which moves them all: the op is kept by pointer, the
  // rest is looked up again.
  const Op* op = nodes_[at].op.get();
  double start = options_.profile ? now() : 0;
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
    nodes_[at].backward_seconds += now() - start;
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
    const Node& source = nodes_[static_cast<std::size_t>(input)];
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
  const Node& source = nodes_[static_cast<std::size_t>(node)];
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
  Var& total = table[static_cast<std::size_t>(node)];
  if (!total.defined())
    total = std::move(gradient);
  else if (create_graph || !exclusive(total.value()))
    total = add(total, gradient);
  else
    add_(total.value(), gradient.value());
}

void Tape::accumulate(Table& table, int node, const AddTo& add_part) const {
  Var& total = table[static_cast<std::size_t>(node)];
  const Node& source = nodes_[static_cast<std::size_t>(node)];
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
               static_cast<Index>(g.storage().bytes()) <=
                   2 * g.numel() * static_cast<Index>(size_of(g.dtype()));
  leaf.grad = alone ? g : g.clone();
}

std::vector<std::pair<int, Var>> Tape::inner_gradients(const Var& y, const Var& dy, int first,
                                                       const Sweep& options) {
  std::vector<std::pair<int, Var>> result;
  int root = number_of(y);
  if (root < 0) return result;
  Table table(nodes_.size());
  table[static_cast<std::size_t>(root)] = dy;
  if (root >= first) {
    Sweep inner = options;
    inner.last = first;
    sweep(table, root, inner);
  }
  for (int i = 0; i < first; ++i)
    if (table[static_cast<std::size_t>(i)].defined())
      result.emplace_back(i, std::move(table[static_cast<std::size_t>(i)]));
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

// ---- pausing ----

Paused::Paused(bool pause) : tape_(open_tape) {
  if (tape_) before_ = std::exchange(tape_->paused_, pause || tape_->paused_);
}
Paused::~Paused() {
  for (Tape* t = open_tape; t; t = t->outer_)  // it may be gone
    if (t == tape_) t->paused_ = before_;
}

}  // namespace glim
