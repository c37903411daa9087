// A tape calls its observers for each op that it records, and for each gradient on its way.
//
//   struct Count : Observer {
//     void arrived(int, const Var&) override { ++gradients; }
//     int gradients = 0;
//   } count;
//   tape.observe(count);
//
// Watch, Hook, OpTimes, FiniteCheck and what walks a tape are observers. A tape without them spends no time.
// Observer and tape may end in any order. An observer keeps what it saw after its tape ends.
#pragma once

#include <string_view>
#include <vector>

#include "autograd/formula.hpp"
#include "autograd/var.hpp"

namespace glim {

class Tape;

// A gradient that the op of node `sender` sends to one of its inputs that is on the tape.
struct Flow {
  std::size_t input = 0;  // its number among the op's inputs
  int node = -1;          // its number on the tape
  Tensor gradient;
  int sender = -1;
};

class Observer {
 public:
  Observer() = default;
  virtual ~Observer() { stop(); }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  void stop();  // unregisters it

  // Forward.
  virtual void op_started(double /*seconds since then*/) {}
  virtual void computed(const Formula&, const Tensor&) {}  // its value, recorded or not
  virtual void read(int /*node*/, const Var&) {}  // by an op that is recorded; -1: a constant
  virtual void recorded(int /*node*/, const Tensor&) {}  // an op, or a leaf, became this node
  // Called before a value is named with this path. Returns the value, or a replacement for it.
  virtual Var on_value(std::string_view /*path*/, Var v) { return v; }
  // Called when the part of the model with this path has computed `out` from `in`. Returns `out`, or a
  // replacement for it.
  virtual Var on_module_output(std::string_view /*path*/, const Var&, Var out) { return out; }
  virtual void named(int /*node*/, const Tensor&) {}  // the node got a name
  // The nodes from `size` on are removed: the tape ends, or a checkpointed region does. With `keep` the observer
  // keeps what it saw of them; without it, the region will run again.
  virtual void nodes_removed(int /*size*/, bool /*keep*/) {}

  // Backward.
  // Called with a node's complete gradient. Returns it, or a replacement for it.
  virtual Var change(int /*node*/, Var dy) { return dy; }
  virtual void arrived(int /*node*/, const Var&) {}  // the gradient that change() returned
  virtual void rule_begins(int /*node*/) {}          // the rule of the node's op
  virtual void rule_ended(int /*node*/) {}
  virtual void flow(const Flow&) {}

 protected:
  const Tape* tape() const { return tape_; }  // that it observes; null before and after
  // The node of v on it; a leaf joins it. StateError for a constant.
  int required_node(const char* op, const Var& v) const;

 private:
  friend class Tape;
  Tape* tape_ = nullptr;
};

// The observers of a tape, in order of registration. One added during an event is first called at the next event; one
// removed is not called again.
class ObserverList {
 public:
  bool empty() const { return all_.empty(); }
  void add(Observer& observer) { all_.push_back(&observer); }
  void remove(Observer& observer);
  // Calls f for each observer.
  template <class F>
  void notify(const F& f) {
    if (all_.empty()) return;
    Event event(*this);
    for (std::size_t k = 0, n = all_.size(); k < n; ++k)
      if (all_[k]) f(*all_[k]);
  }

 private:
  struct Event {
    explicit Event(ObserverList& l) : list(l) { ++list.events_; }
    ~Event() {
      if (--list.events_ == 0) std::erase(list.all_, nullptr);
    }
    ObserverList& list;
  };
  std::vector<Observer*> all_;  // null: removed during an event
  int events_ = 0;              // nested events
};

}  // namespace glim
