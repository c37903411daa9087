// What looks at a tape: it is told of each op that is recorded, and of each gradient on its way.
//
//   struct Count : Observer {
//     void arrived(int, const Var&) override { ++gradients; }
//     int gradients = 0;
//   } count;
//   tape.observe(count);
//
// Watching, hooks, walking, profiling, the check for NaN and the replay of ops are observers. A tape
// without any pays for none. An observer outlives its tape, or calls tape.stop_observing().
#pragma once

#include "autograd/engine.hpp"

namespace glim {

// What the op of node `from` sends to one of its inputs; only inputs that lie on the tape get something.
struct Flow {
  std::size_t input = 0;  // of the op
  int node = -1;          // that this input is
  Tensor gradient;
  int from = -1;
};

// How an op came to its value: all its inputs, and its forward on other operands of any dtype that it
// takes, with the constants (masks, random keys, indices) of the first time. Nothing is recorded then;
// the same operands give the same bits. `run` is empty for a checkpointed region.
struct Replay {
  std::vector<Var> operands;  // a leaf is the leaf itself, not its value then
  Tensor value;
  RunAgain run;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Forward: an op began, `ago` seconds before now; it gave y, recorded or not; it became a node, or a
  // leaf did; a node got a name.
  virtual void begins(double) {}
  virtual void computed(const Formula&, const Tensor&) {}
  virtual void recorded(int, const Tensor&) {}
  virtual bool wants_replay() const { return false; }
  virtual void recorded_replay(int, Replay) {}
  virtual void named(int, const Tensor&) {}
  // The nodes from `size` on are gone: with the tape, or with a checkpointed region that is run again
  // later (keep: what was seen in it counts).
  virtual void truncated(int, bool) {}

  // Backward: a node's gradient is complete, and may be changed (what comes back replaces it); it is
  // what goes on; its op's rule begins, and has ended; the rule sends something to an input (a defined
  // tensor replaces it).
  virtual Var change(int, Var dy) { return dy; }
  virtual void arrived(int, const Var&) {}
  virtual void rule_begins(int) {}
  virtual void rule_ended(int) {}
  virtual bool sees_flows() const { return false; }
  virtual Tensor flow(const Flow&) { return {}; }
};

}  // namespace glim
