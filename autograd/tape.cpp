#include "autograd/tape.hpp"

#include <atomic>
#include <chrono>

#include "autograd/ops.hpp"
#include "tensor/elementwise.hpp"

namespace glim {
namespace {

thread_local Tape* open_tape = nullptr;
std::atomic<std::uint64_t> next_tape{1};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Tape::Tape(TapeOptions options) : options_(options), id_(next_tape++), outer_(open_tape) {
  open_tape = this;
}

// Nodes are freed from the back, so that no chain of owners can recurse.
Tape::~Tape() {
  truncate(0);
  open_tape = outer_;
}

Tape* Tape::current() { return open_tape && !open_tape->paused_ ? open_tape : nullptr; }

Tape* Tape::open() { return open_tape; }

void Tape::truncate(std::size_t size) {
  while (nodes_.size() > size) {
    if (Leaf* l = nodes_.back().leaf.get(); l && l->tape == id_) l->tape = 0;
    nodes_.pop_back();
  }
}

int Tape::add_node(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size()) - 1;
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
  if (!v.leaf_) return v.tape_ == id_ ? v.node_ : -1;
  Leaf& leaf = *v.leaf_;
  if (!leaf.trainable) return -1;
  if (leaf.tape != id_) {
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
    note_watched(leaf.node, leaf.value);
  }
  return leaf.node;
}

int Tape::node_of(const Var& v) const {
  if (v.leaf_) return v.leaf_->tape == id_ ? v.leaf_->node : -1;
  return v.tape_ == id_ ? v.node_ : -1;
}

std::string Tape::path(int i) const {
  const Node& node = nodes_[static_cast<std::size_t>(i)];
  std::string own = node.label.empty() ? std::string(node.name) : node.label;
  if (node.scope < 0 || scope_path(node.scope).empty()) return own;
  return scope_path(node.scope) + "." + own;
}

// ---- backward ----

void Tape::backward(const Var& loss, Backward options) {
  if (loss.numel() != 1)
    throw with_operands(ShapeError("backward", "the loss must have one element; give dy otherwise"),
                        Operand("loss", loss.value()));
  backward(loss, ones(loss.shape(), loss.dtype()), options);
}

void Tape::backward(const Var& y, const Tensor& dy, Backward options) {
  int root = number_of(y);
  if (root < 0)
    throw with_operands(
        StateError("backward", "the value was not computed from any leaf on this tape"),
        Operand("y", y.value()));
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype())
    throw with_operands(ShapeError("backward", "dy must have y's shape and dtype"),
                        Operand("y", y.value()), Operand("dy", dy));
  Table table(nodes_.size());
  table[static_cast<std::size_t>(root)].grad = dy;
  sweep(table, root,
        {.retain = options.retain || options.create_graph,
         .create_graph = options.create_graph,
         .fill_leaves = true});
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
  std::vector<int> wanted;
  for (const Var& x : xs) wanted.push_back(number_of(x));
  std::vector<Var> result(xs.size());
  if (int root = number_of(y); root >= 0) {
    Table table(nodes_.size());
    table[static_cast<std::size_t>(root)].grad = upstream;
    // The gradients wanted are read off as they pass.
    std::vector<int> ids;
    for (std::size_t i = 0; i < xs.size(); ++i)
      if (wanted[i] >= 0)
        ids.push_back(hook(xs[i], [&result, i](const Var& g) {
          result[i] = g;
          return Var();
        }));
    sweep(table, root,
          {.retain = options.retain || options.create_graph, .create_graph = options.create_graph});
    for (int id : ids) remove_hook(id);
  }
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (!result[i].defined()) result[i] = zeros(xs[i].shape(), xs[i].dtype());
  return result;
}

void Tape::sweep(Table& table, int from, const Sweep& options) {
  Table* outer_table = std::exchange(active_table_, &table);
  bool outer_filling = std::exchange(filling_leaves_, options.fill_leaves);
  Tape* outer_open = std::exchange(open_tape, this);
  bool outer_paused = std::exchange(paused_, !options.create_graph);
  struct Restore {
    std::function<void()> f;
    ~Restore() { f(); }
  } restore{[&, this] {
    active_table_ = outer_table;
    filling_leaves_ = outer_filling;
    open_tape = outer_open;
    paused_ = outer_paused;
  }};
  for (int i = from; i >= options.last; --i)
    if (table[static_cast<std::size_t>(i)].grad.defined()) step(table, i, options);
}

void Tape::step(Table& table, int i, const Sweep& options) {
  auto at = static_cast<std::size_t>(i);
  Var gradient = run_hooks(i, std::move(table[at].grad));
  table[at] = {};
  if (options_.check_finite && !all_finite(gradient.value())) {
    NonFiniteError e(nodes_[at].name, "its gradient is not finite");
    e.add_operand("dy", gradient.value().kind());
    e.set_place(path(i), to_string(nodes_[at].where));
    throw e;
  }
  for (Watched& w : watched_)
    if (w.node == i) w.grad = gradient.value();
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
  if (options_.profile) nodes_[at].backward_seconds += now() - start;
  gradient = {};
  for (std::size_t k = 0; k < nodes_[at].inputs.size(); ++k) {
    int input = nodes_[at].inputs[k];
    if (input < 0) continue;
    if (!d.has(k))
      throw StateError(nodes_[at].name,
                       "backward returned no gradient for input " + std::to_string(k));
    Var g = d.take(k);
    const Node& source = nodes_[static_cast<std::size_t>(input)];
    if (g.shape() != source.shape || g.dtype() != source.dtype) {
      ShapeError e(nodes_[at].name, "backward returned a gradient " + g.value().kind() +
                                        " for input " + std::to_string(k) + ", which is " +
                                        to_string(source.shape) + " " +
                                        std::string(name_of(source.dtype)));
      e.set_place(path(i), to_string(nodes_[at].where));
      throw e;
    }
    accumulate(table, input, std::move(g), options.create_graph);
  }
  if (!options.retain) nodes_[at].op.reset();
}

void Tape::accumulate(Table& table, int node, Var gradient, bool create_graph) const {
  Slot& slot = table[static_cast<std::size_t>(node)];
  if (!slot.grad.defined()) {
    slot.grad = std::move(gradient);
    slot.owned = false;
  } else if (slot.owned && !create_graph) {
    add_(slot.grad.value(), gradient.value());
  } else {
    slot.grad = add(slot.grad, gradient);
    slot.owned = true;
  }
}

void Tape::finish_leaf(Node& node, Var gradient) {
  Leaf& leaf = *node.leaf;
  if (leaf.grad.defined()) {
    add_(leaf.grad, gradient.value());
    return;
  }
  Tensor g = gradient.value();
  gradient = {};
  // The leaf may change its gradient in place, so it must be the only one that sees it.
  bool alone = g.is_contiguous() && g.storage().use_count() == 1;
  leaf.grad = alone ? g : g.clone();
}

std::vector<std::pair<int, Var>> Tape::inner_gradients(const Var& y, const Var& dy, int first,
                                                       const Sweep& options) {
  std::vector<std::pair<int, Var>> result;
  int root = number_of(y);
  if (root < 0) return result;
  Table table(nodes_.size());
  table[static_cast<std::size_t>(root)].grad = dy;
  if (root >= first) {
    Sweep inner = options;
    inner.last = first;
    sweep(table, root, inner);
  }
  for (int i = 0; i < first; ++i)
    if (table[static_cast<std::size_t>(i)].grad.defined())
      result.emplace_back(i, std::move(table[static_cast<std::size_t>(i)].grad));
  return result;
}

Grads FusedOp::through_composition(const std::vector<Var>& inputs, const Var& dy) const {
  Tape& tape = *Tape::current();
  int first = static_cast<int>(tape.nodes_.size());
  // The inputs are nodes before `first`: gradients stop there, added up for one given twice.
  Var y = composition(inputs);
  auto found = tape.inner_gradients(y, dy, first, {.retain = true, .create_graph = true});
  Grads d;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!needs_grad(k)) continue;
    for (auto& [node, g] : found)
      if (g.defined() && node == tape.node_of(inputs[k])) d[k] = std::exchange(g, Var());
    if (!d.has(k)) d[k] = Var(zeros(inputs[k].shape(), inputs[k].dtype()));
  }
  return d;
}

// ---- watching and hooks ----

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool Tape::matches(const std::string& pattern, int node) const {
  return glob_match(pattern, path(node));
}

void Tape::watch(std::string pattern) { patterns_.push_back(std::move(pattern)); }

void Tape::watch(const Var& v) {
  int node = number_of(v);
  if (node < 0)
    throw with_operands(StateError("watch", "the value is not on this tape"),
                        Operand("x", v.value()));
  for (const Watched& w : watched_)
    if (w.node == node) return;
  watched_.push_back({node, path(node), v.value(), {}});
}

void Tape::note_watched(int node, const Tensor& value) {
  for (const std::string& p : patterns_) {
    if (!matches(p, node)) continue;
    for (const Watched& w : watched_)
      if (w.node == node) return;
    watched_.push_back({node, path(node), value, {}});
    return;
  }
}

Tensor Tape::grad_of(const Var& v) const {
  int node = node_of(v);
  for (const Watched& w : watched_)
    if (w.node == node && node >= 0) return w.grad;
  return {};
}

int Tape::hook(const Var& v, Hook h) {
  int node = number_of(v);
  if (node < 0)
    throw with_operands(StateError("hook", "the value is not on this tape"),
                        Operand("x", v.value()));
  hooks_.push_back({next_hook_, node, {}, std::move(h)});
  return next_hook_++;
}

int Tape::hook(std::string pattern, Hook h) {
  hooks_.push_back({next_hook_, -1, std::move(pattern), std::move(h)});
  return next_hook_++;
}

void Tape::remove_hook(int id) {
  std::erase_if(hooks_, [id](const NodeHook& h) { return h.id == id; });
}

Var Tape::run_hooks(int node, Var gradient) {
  auto call = [&](const Hook& h) {
    Var replaced = h(gradient);
    if (!replaced.defined()) return;
    if (replaced.shape() != gradient.shape() || replaced.dtype() != gradient.dtype())
      throw with_operands(
          ShapeError("hook", "the replacement must have the gradient's shape and dtype"),
          Operand("gradient", gradient.value()), Operand("replacement", replaced.value()));
    gradient = replaced;
  };
  if (!hooks_.empty()) {
    std::vector<NodeHook> now_set = hooks_;  // a hook may remove itself
    for (const NodeHook& h : now_set)
      if (h.node == node || (h.node < 0 && matches(h.pattern, node))) call(h.call);
  }
  if (auto leaf = nodes_[static_cast<std::size_t>(node)].leaf; leaf && !leaf->hooks.empty()) {
    auto now_set = leaf->hooks;
    for (auto& [id, h] : now_set) call(h);
  }
  return gradient;
}

Var named(Var v, std::string_view label) {
  Tape* tape = Tape::current();
  if (!tape) return v;
  int node = tape->node_of(v);
  if (node >= 0 && !v.is_leaf()) {
    tape->nodes_[static_cast<std::size_t>(node)].label = label;
    tape->note_watched(node, v.value());
  }
  return v;
}

// ---- pausing ----

Paused::Paused(bool pause) : tape_(open_tape) {
  if (tape_) before_ = std::exchange(tape_->paused_, pause || tape_->paused_);
}
Paused::~Paused() {
  if (tape_) tape_->paused_ = before_;
}

// ---- Var ----

Var Var::leaf(Tensor value, std::string name) {
  Var v;
  v.leaf_ = std::make_shared<Leaf>();
  v.leaf_->value = std::move(value);
  v.leaf_->name = std::move(name);
  return v;
}

bool Var::requires_grad() const {
  if (leaf_) return leaf_->trainable;
  if (!tape_) return false;
  // While paused the owner is still the open tape.
  if (open_tape && tape_ == open_tape->id_) return true;
  throw with_operands(
      StateError("tape",
                 "a value computed on another tape is used: detach() it, or keep that tape"),
      Operand("x", value_));
}

Leaf& Var::leaf() const {
  if (!leaf_)
    throw with_operands(StateError("leaf", "the value is not a leaf"), Operand("x", value_));
  return *leaf_;
}
const Tensor& Var::grad() const { return leaf().grad; }
void Var::zero_grad() const { leaf().grad = {}; }
const std::string& Var::name() const {
  static const std::string none;
  return leaf_ ? leaf_->name : none;
}
int Var::hook(Hook h) const {
  leaf().hooks.emplace_back(leaf().next_hook, std::move(h));
  return leaf().next_hook++;
}
void Var::remove_hook(int id) const {
  std::erase_if(leaf().hooks, [id](const auto& h) { return h.first == id; });
}

}  // namespace glim
