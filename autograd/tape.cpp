#include "autograd/tape.hpp"

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

Tape::Tape(TapeOptions options) : Graph(next_tape++), replays_(options.replay), outer_(open()) {
  open_ = this;
  take_lists();
}

// Nodes are freed from the back, so that no chain of owners can recurse.
Tape::~Tape() {
  Tape *inner = nullptr, *tape = open();  // tapes may go in any order
  while (tape && tape != this) tape = (inner = tape)->outer_;
  if (!tape)
    end_program("on another thread than it began on, or within the backward of an outer one");
  if (running_) end_program("within its own backward, as by a hook");
  truncate({}, true);
  observers_.notify([](Observer& o) { o.tape_ = nullptr; });
  if (inner)
    inner->outer_ = outer_;
  else
    open_ = outer_;
  leave_lists();
}

const std::string* Tape::current_scope() {
  if (scope_version_ != Scope::version()) {
    scope_ = &*names_.insert(Scope::path()).first;
    scope_version_ = Scope::version();
  }
  return scope_;
}

std::string Tape::path(int i) const {
  if (i < 0 || static_cast<std::size_t>(i) >= nodes_.size())
    throw IndexError("path", "there is no node " + std::to_string(i) + " on the tape");
  const Node& node = nodes_[i];
  Var leaf;
  leaf.leaf_ = node.leaf;
  std::string name = !node.label.empty() ? std::string(node.label) : leaf.name();
  if (name.empty()) name = node.name();
  return node.scope ? dotted(*node.scope, name) : name;  // a leaf's name is its whole path
}

Var Tape::value(int i) const {
  if (i < 0 || static_cast<std::size_t>(i) >= nodes_.size() || !nodes_[i].leaf)
    return value_of(i, replay(i).value);
  Var v;
  v.leaf_ = nodes_[i].leaf;
  return v;
}

// ---- errors name operands, path and line ----

Var apply_at_place(const Call& call) {
  try {
    if (!Graph::current())
      for (const Var* x : call.inputs) x->require_open_tape();
    return Graph::record_or_compute(call);
  } catch (Error& e) {
    annotate(e, call.type.formula.op, call.inputs, call.where);
    throw;
  }
}

void annotate(Error& error, std::string_view op, InputList inputs, const Where& where) {
  const Tape* tape = Tape::current();
  for (std::size_t i = 0; i < inputs.size() && error.operand_count() == inputs.size(); ++i) {
    int node = tape ? tape->node_of(*inputs[i]) : -1;
    error.set_operand_path(i, node >= 0 ? tape->path(node) : inputs[i]->name());
  }
  const std::string& scope = Scope::path();
  error.set_place(scope.empty() ? "" : dotted(scope, op), to_string(where));
}

void place(Error& error, const Tape& tape, int i) {
  const std::string path = tape.path(i);
  const Node& node = tape.nodes()[i];
  error.set_place(path, node.leaf ? "" : to_string(node.where));
}

bool Var::requires_grad() const {
  if (leaf_) return leaf_->trainable;
  if (!tape_) return false;
  // While paused the owner is still the open tape.
  const Tape* tape = Tape::open();
  if (tape && tape->holds(*this)) return true;
  if (tape && tape_ == tape->id_)
    throw StateError(
        "recomputed",
        "a value computed inside a checkpointed region is used outside: return it from "
        "the region, or detach() it",
        {{"x", value_}});
  refuse_tape();
}

// Where nothing is recorded, a value of any open tape is a constant.
void Var::require_tape() const {
  const Tape* owner = Tape::open();
  while (owner && owner->id_ != tape_) owner = owner->outer_;
  if (!owner) refuse_tape();
}

void Var::refuse_tape() const {
  throw StateError("tape",
                   "a value computed on another tape is used: detach() it, or keep that tape",
                   {{"x", value_}});
}

// ---- pausing ----

Tape::NoGrad::NoGrad(bool pause) : tape_(pause && open() ? open()->id_ : 0) {
  if (tape_) ++open()->paused_;
}
Tape::NoGrad::~NoGrad() {
  for (Tape* t = open(); t; t = t->outer_)  // it may be gone
    if (t->id_ == tape_ && t->paused_ > 0) --t->paused_;
}

}  // namespace glim
