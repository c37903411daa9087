#include "autograd/tape.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "tensor/error.hpp"

namespace glim {
namespace {

std::atomic<std::uint64_t> next_tape{1};

// A destructor cannot throw, and the code after it would use a tape that is gone.
[[noreturn]] void end_program(const char* where) {
  std::fprintf(stderr, "glim: a Tape ends %s (autograd/tape.hpp)\n", where);
  std::abort();
}

}  // namespace

// The next tape on this thread reuses the memory of the last one's lists, so a training step allocates nothing. Scope
// paths are kept because the next step uses the same ones.
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

Tape::Tape(TapeOptions options) : replays_(options.replay), id_(next_tape++), outer_(open_) {
  open_ = this;
  if (!Spare::gone) static_cast<TapeLists&>(*this) = std::exchange(Spare::get().lists, {});
}

// Nodes are freed from the back, so that no chain of owners can recurse.
Tape::~Tape() {
  Tape** at = &open_;
  while (*at && *at != this) at = &(*at)->outer_;  // tapes may go in any order
  if (!*at)
    end_program("on another thread than it began on, or within the backward of an outer one");
  if (running_) end_program("within its own backward, as by a hook");
  truncate({}, true);
  observers_.notify([](Observer& o) { o.tape_ = nullptr; });
  *at = outer_;
  if (!Spare::gone && nodes_.all_.capacity() + names_.size() <= kMostSpare)
    Spare::get().lists = std::move(static_cast<TapeLists&>(*this));
}

void Tape::truncate(const Place& from, bool keep_seen) {
  while (nodes_.size() > from.size) {
    Node& last = *nodes_.all_.back();
    if (Leaf* l = last.leaf.get()) leaf_nodes_.erase(l);
    nodes_.all_.pop_back();
    last.~Node();
  }
  arena_.rewind(from.mark);
  notify([&](Observer& o) { o.nodes_removed(static_cast<int>(from.size), keep_seen); });
}

Node& Tape::add_node(const Tensor& y) {
  Node& node = *arena_.make<Node>();
  node.serial = next_serial_++;
  node.shape = y.shape();
  node.dtype = y.dtype();
  nodes_.all_.push_back(&node);
  return node;
}

void Tape::bind(Var& v, int node) const {
  v.tape_ = id_;
  v.node_ = node;
  v.serial_ = nodes_[node].serial;
}

bool Tape::holds(const Var& v) const {
  return v.tape_ == id_ && static_cast<std::size_t>(v.node_) < nodes_.size() &&
         nodes_[v.node_].serial == v.serial_;
}

const std::string* Tape::current_scope() {
  if (scope_version_ != Scope::version()) {
    scope_ = &*names_.insert(Scope::path()).first;
    scope_version_ = Scope::version();
  }
  return scope_;
}

int Tape::number_of(const Var& v) {
  if (!v.leaf_) return holds(v) ? v.node_ : -1;
  Leaf& leaf = *v.leaf_;
  if (!leaf.trainable) return -1;
  const auto likely = static_cast<std::size_t>(leaf.node.load(std::memory_order_relaxed));
  if (likely < nodes_.size() && nodes_[likely].leaf == v.leaf_) return static_cast<int>(likely);
  const auto known = leaf_nodes_.find(&leaf);
  const int number = known == leaf_nodes_.end() ? static_cast<int>(nodes_.size()) : known->second;
  leaf.node.store(number, std::memory_order_relaxed);
  if (known != leaf_nodes_.end()) return number;
  add_node(leaf.value).leaf = v.leaf_;
  leaf_nodes_.emplace(&leaf, number);
  notify([&](Observer& o) { o.recorded(number, leaf.value); });
  return number;
}

int Tape::node_of(const Var& v) const {
  if (!v.leaf_) return holds(v) ? v.node_ : -1;
  auto known = leaf_nodes_.find(v.leaf_.get());
  return known == leaf_nodes_.end() ? -1 : known->second;
}

std::string Tape::path(int i) const {
  if (i < 0 || static_cast<std::size_t>(i) >= nodes_.size())
    throw IndexError("path", "there is no node " + std::to_string(i) + " on the tape");
  const Node& node = nodes_[i];
  Var leaf;
  leaf.leaf_ = node.leaf;
  std::string own = !node.label.empty() ? std::string(node.label) : leaf.name();
  if (own.empty()) own = node.name();
  return node.scope ? dotted(*node.scope, own) : own;  // a leaf's name is its whole path
}

Var Tape::value(int i) const {
  Var v;
  if (i >= 0 && static_cast<std::size_t>(i) < nodes_.size() && nodes_[i].leaf) {
    v.leaf_ = nodes_[i].leaf;
  } else {
    v = Var(replay(i).value);
    bind(v, i);
  }
  return v;
}

void place(Error& error, const Tape& tape, int i) {
  const std::string path = tape.path(i);
  const Node& node = tape.nodes()[i];
  error.set_place(path, node.leaf ? "" : to_string(node.where));
}

Var module_output(std::string_view part, const Var& in, Var out) {
  if (Tape* tape = Tape::current())
    tape->notify([&](Observer& o) {
      out = o.on_module_output(dotted(Scope::path(), part), in, std::move(out));
    });
  return out;
}

Var named(Var v, std::string_view label) {
  Tape* tape = Tape::current();
  if (!tape || v.is_leaf()) return v;
  tape->notify([&](Observer& o) { v = o.on_value(dotted(Scope::path(), label), std::move(v)); });
  const int i = tape->node_of(v);
  if (i < 0) return v;
  tape->nodes_[i].label = *tape->names_.emplace(label).first;
  tape->notify([&](Observer& o) { o.named(i, v.value()); });
  return v;
}

// ---- backward ----

void Tape::backward(const Var& loss, Backward options) {
  backward(loss, Engine::one_for("backward", loss), options);
}

void Tape::backward(const Var& y, const Tensor& dy, Backward options) {
  Engine::pass(*this, y, dy, options, true);
}

namespace {

// Takes the gradients that arrive at some nodes.
struct Reader final : Observer {
  void arrived(int node, const Var& dy) override {
    for (auto& [wanted, gradient] : reads)
      if (wanted == node) *gradient = dy;
  }
  std::vector<std::pair<int, Var*>> reads;
};

}  // namespace

std::vector<Var> Tape::grad(const std::vector<Var>& ys, const std::vector<Var>& xs,
                            const std::vector<Var>& dys, Backward options) {
  if (ys.size() != dys.size())
    throw ShapeError("grad", "there are " + std::to_string(ys.size()) + " outputs and " +
                                 std::to_string(dys.size()) + " upstream gradients");
  std::vector<Var> result(xs.size());
  Reader reader;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].tape_ && !holds(xs[i]))
      throw StateError("grad", "a gradient is asked for with regard to a value of another tape",
                       {{"x", xs[i].value()}});
    if (int node = number_of(xs[i]); node >= 0) reader.reads.emplace_back(node, &result[i]);
  }
  int first = static_cast<int>(nodes_.size());
  for (const auto& [node, gradient] : reader.reads) first = std::min(first, node);
  Engine::Table table(first);
  int from = -1;
  for (std::size_t k = 0; k < ys.size(); ++k) {
    const Var dy = dys[k].defined() ? dys[k] : Engine::one_for("grad", ys[k]);
    Engine::check_upstream("grad", ys[k], dy.value());
    if (number_of(ys[k]) < 0) continue;
    from =
        std::max(from, Engine::begin(*this, table, ys[k], options.create_graph ? dy : dy.detach()));
  }
  if (from >= 0) {
    observe(reader);
    Engine(*this, options, false).run(table, from, first);
  }
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (!result[i].defined()) result[i] = zeros(xs[i].shape(), xs[i].dtype());
  return result;
}

// ---- observers ----

void Tape::observe(Observer& observer) {
  if (observer.tape_) throw StateError("observe", "the observer observes a tape already");
  observers_.add(observer);
  observer.tape_ = this;
}

void Observer::stop() {
  if (!tape_) return;
  tape_->observers_.remove(*this);
  tape_ = nullptr;
}

void ObserverList::remove(Observer& observer) {
  std::replace(all_.begin(), all_.end(), &observer, static_cast<Observer*>(nullptr));
  if (events_ == 0) std::erase(all_, nullptr);
}

int Observer::required_node(const char* op, const Var& v) const {
  const int node = tape_ ? tape_->number_of(v) : -1;
  if (node < 0) throw StateError(op, "the value is not on this tape", {{"x", v.value()}});
  return node;
}

const Replay& Tape::replay(int i) const {
  if (i < 0 || static_cast<std::size_t>(i) >= nodes_.size())
    throw StateError("replay", "there is no node " + std::to_string(i) + " on the tape");
  if (nodes_[i].leaf) throw StateError("replay", path(i) + " is a leaf: nothing computed it");
  if (nodes_[i].replay) return *nodes_[i].replay;
  throw StateError("replay", path(i) + " was recorded without replay: set `replay` on its tape");
}

// ---- pausing ----

Tape::NoGrad::NoGrad(bool pause) : tape_(pause && open_ ? open_->id_ : 0) {
  if (tape_) ++open_->paused_;
}
Tape::NoGrad::~NoGrad() {
  for (Tape* t = open_; t; t = t->outer_)  // it may be gone
    if (t->id_ == tape_ && t->paused_ > 0) --t->paused_;
}

}  // namespace glim
