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
  std::string own = !node.label.empty() ? std::string(node.label) : leaf.name();
  if (own.empty()) own = node.name();
  return node.scope ? dotted(*node.scope, own) : own;  // a leaf's name is its whole path
}

Var Tape::value(int i) const {
  if (i < 0 || static_cast<std::size_t>(i) >= nodes_.size() || !nodes_[i].leaf)
    return value_of(i, replay(i).value);
  Var v;
  v.leaf_ = nodes_[i].leaf;
  return v;
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
