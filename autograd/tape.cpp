#include "autograd/tape.hpp"

#include <atomic>

#include "autograd/ops.hpp"

namespace glim {
namespace {

thread_local Tape* open_tape = nullptr;
std::atomic<std::uint64_t> next_tape{1};

}  // namespace

// The memory of the last tape's lists serves the next one on this thread: a training step allocates
// none, and a growing list moves none. Paths of scopes stay, as they come again.
struct Tape::Spare {
  TapeLists lists;
  static thread_local bool gone;  // the thread is ending; a static tape may outlive it
  static Spare& get() {
    static thread_local Spare spare;
    return spare;
  }
  ~Spare() { gone = true; }
};
thread_local bool Tape::Spare::gone = false;
static constexpr std::size_t kMostSpare = std::size_t{1} << 16;

Tape::Tape(TapeOptions options) : options_(options), id_(next_tape++), outer_(open_tape) {
  open_tape = this;
  if (!Spare::gone) static_cast<TapeLists&>(*this) = std::exchange(Spare::get().lists, {});
}

// Nodes are freed from the back, so that no chain of owners can recurse.
Tape::~Tape() {
  truncate(0);
  if (open_tape == this) open_tape = outer_;
  for (Tape* t = open_tape; t; t = t->outer_)  // not the innermost one: tapes may go in any order
    if (t->outer_ == this) t->outer_ = outer_;
  if (!Spare::gone && nodes_.capacity() + scopes_.size() <= kMostSpare)
    Spare::get().lists = std::move(static_cast<TapeLists&>(*this));
}

Tape* Tape::current() { return open_tape && !open_tape->paused_ ? open_tape : nullptr; }

Tape* Tape::open() { return open_tape; }

Tape* Tape::exchange_open(Tape* tape) { return std::exchange(open_tape, tape); }

void Tape::truncate(std::size_t size, bool keep_watched) {
  while (nodes_.size() > size) {
    if (Leaf* l = nodes_.back().leaf.get()) {
      leaf_entries_.push_back(leaf_nodes_.extract(l));
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
  kept_[node] = std::move(kept);
}

bool Tape::recomputes(const Var& v) const {
  if (options_.replay || !holds(v)) return false;
  const Op* op = nodes_[v.node_].op.get();
  return op && op->recomputes();
}

Tensor Tape::recompute(const Var& v) const {
  const Op* op = holds(v) ? nodes_[v.node_].op.get() : nullptr;
  if (!op) used_up(v.node_);
  return op->recompute();
}

void Tape::used_up(int node) const {
  throw StateError("backward", path(node) +
                                   " was used up by an earlier backward; the first one needs "
                                   "Backward{.retain = true}");
}

void Tape::bind(Var& v, int node) const {
  v.tape_ = id_;
  v.node_ = node;
  v.serial_ = nodes_[node].serial;
}

bool Tape::holds(const Var& v) const {
  auto at = static_cast<std::size_t>(v.node_);
  return v.tape_ == id_ && at < nodes_.size() && nodes_[at].serial == v.serial_;
}

int Tape::current_scope() {
  if (scope_version_ != Scope::version() || scopes_.empty()) {
    scope_version_ = Scope::version();
    auto [at, added] = scope_numbers_.try_emplace(Scope::path(), static_cast<int>(scopes_.size()));
    if (added) scopes_.push_back(&at->first);
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
    node.leaf = v.leaf_;
    node.bytes = leaf.value.bytes();
    if (scopes_.empty()) current_scope();
    node.scope = -1;  // a leaf's name is its whole path
    leaf.node = add_node(std::move(node));
    leaf.tape = id_;
    if (leaf_entries_.empty()) {
      leaf_nodes_.emplace(&leaf, leaf.node);
    } else {
      LeafNodes::node_type entry = std::move(leaf_entries_.back());
      leaf_entries_.pop_back();
      entry.key() = &leaf;
      entry.mapped() = leaf.node;
      leaf_nodes_.insert(std::move(entry));
    }
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
  const Node& node = nodes_[i];
  std::string own = !node.label.empty()                     ? node.label
                    : node.leaf && !node.leaf->name.empty() ? node.leaf->name
                                                            : std::string(node.name);
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
  const Node& node = nodes_[i];
  error.set_place(path(i), node.leaf ? "" : to_string(node.where));
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
